"""Measured points for the tests: the field report's, an H200's, and perfect ones of a made-up machine."""

import json
from collections.abc import Sequence
from pathlib import Path

from roles.tune.points import Point

FIELD_15 = Point(speculative_tokens=15, tok_s=40, per_position_rates=(0.72, 0.48, 0.30, 0.18))
FIELD_5 = Point(
    speculative_tokens=5,
    tok_s=61.3,
    rounds=195,
    accepted=418,
    drafted=975,
    per_position_rates=(0.800, 0.556, 0.377, 0.245, 0.166),
)


def sweep(concurrency: int) -> list[Point]:
    """A real sweep on an H200: k = 0, 5, 8, 15."""
    path = Path(__file__).parents[2] / "cases/tune/h200-sweeps.json"
    return [Point(**point) for point in json.loads(path.read_text())[f"c{concurrency}"]]


def point(k: int, rates: Sequence[float], a_ms: float, b_ms: float, *, rounds: int = 20_000, streams: int = 1) -> Point:
    """What a machine measures whose rounds take exactly a + b*k, with rates that do not depend on k; k=0 takes a."""
    used = tuple(rates[:k])
    return Point(
        speculative_tokens=k,
        tok_s=1e3 * streams * (1 + sum(used)) / (a_ms + b_ms * k),
        rounds=rounds if k else None,
        accepted=round(rounds * sum(used)) if k else None,
        drafted=rounds * k if k else None,
        per_position_rates=used,
        concurrency=streams,
    )


def optimum(rates: Sequence[float], a_ms: float, b_ms: float) -> int:
    """The best k of that machine."""
    return max(range(len(rates) + 1), key=lambda k: (1 + sum(rates[:k])) / (a_ms + b_ms * k))
