"""Curves of per-position acceptance that known faults left on a real engine, and which of them a window is like."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from roles.acceptance.window import Window

_DEPTH = 4
_ROUNDS_COUNTED = 300  # drafters differ more than rounds do: more rounds must not make a small difference decisive
_SAME = 3.0  # natural log of the likelihood ratio; below it two shapes cannot be told apart
_NO_FIT = 30.0  # further than this from the curve's own likelihood, a shape does not describe it


@dataclass(frozen=True)
class Shape:
    """A fault and the per-position rates that it left (positions 0-3, k=15, against RIGHT with the right config)."""

    id: str
    rates: tuple[float, float, float, float]


# vLLM 0.23.0, one DFlash drafter of five layers and block 16, temperature 0, 10 requests of 256 tokens, one run each.
RIGHT = Shape("right", (0.638, 0.373, 0.176, 0.096))
FAULTS = (
    Shape("several-fields-wrong", (0.165, 0.015, 0.003, 0.001)),  # 0.196 at one request at a time, 0.133 at eight
    Shape("mask-token-is-used", (0.620, 0.148, 0.032, 0.003)),
    Shape("mask-token-is-another-unused", (0.337, 0.109, 0.032, 0.017)),
    Shape("sliding-layers-as-full", (0.374, 0.142, 0.066, 0.032)),
)


def most_like(window: Window, baseline: Window | None) -> tuple[Shape, ...]:
    """Faults whose shape the window has, most likely first; the later ones cannot be told from the first.

    () when the right shape is the likeliest, or when the curve is like none of them. Each shape is taken relative to
    RIGHT and laid over the baseline's own curve where there is one. A round is a chain of trials (position i is tried
    when all before it were accepted), so the likelihood is that of the trials.
    """
    trials = _trials(window)
    if not trials:
        return ()
    right = _conditional(RIGHT.rates)
    base = _conditional(baseline.per_position_rates) if baseline is not None and baseline.rounds else right
    scores = []
    for shape in (RIGHT, *FAULTS):
        factors = [chance / usual for chance, usual in zip(_conditional(shape.rates), right, strict=True)]
        chances = [_inside(chance * factor) for chance, factor in zip(base, factors, strict=False)]
        scores.append((_likelihood(trials, chances), shape))
    best = max(score for score, _ in scores)
    own = _likelihood(trials, [_inside(hits / tries) if tries else 0.5 for hits, tries in trials])
    if own - best > _NO_FIT:
        return ()
    ranked = sorted((pair for pair in scores if best - pair[0] < _SAME), key=lambda pair: -pair[0])
    return () if ranked[0][1] is RIGHT else tuple(shape for _, shape in ranked if shape is not RIGHT)


def _trials(window: Window) -> list[tuple[float, float]]:
    """(accepted, tried) for each of the first positions, scaled down to _ROUNDS_COUNTED rounds."""
    counts = window.per_position[:_DEPTH]
    scale = min(1.0, _ROUNDS_COUNTED / window.rounds) if window.rounds else 1.0
    tried = (window.rounds, *counts)
    return [(scale * count, scale * tries) for count, tries in zip(counts, tried, strict=False)]


def _conditional(rates: Sequence[float]) -> list[float]:
    """Acceptance of each position where all before it were accepted."""
    before = (1.0, *rates)
    return [_inside(rate / earlier) if earlier else 0.5 for rate, earlier in zip(rates[:_DEPTH], before, strict=False)]


def _inside(chance: float) -> float:
    """Nothing is impossible: keeps logarithms finite."""
    return min(max(chance, 0.01), 0.99)


def _likelihood(trials: Sequence[tuple[float, float]], chances: Sequence[float]) -> float:
    pairs = zip(trials, chances, strict=False)
    return sum(hits * log(chance) + (tries - hits) * log(1 - chance) for (hits, tries), chance in pairs)
