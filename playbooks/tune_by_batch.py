"""The end of a tuning that asked for a table of tokens by batch size: try it, prove it, and write it down."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from inventory.errors import UsageError
from playbooks.site import Site
from playbooks.tune_measure import Load, measure
from playbooks.tune_outcome import Confirmation
from playbooks.tune_trials import Trials
from roles.drafter.batch_table import KEY, tokens_at
from roles.drafter.batch_table import read as read_table
from roles.drafter.engines import traits
from roles.release.manifest import Manifest
from roles.tune.answer import Answer
from roles.tune.by_batch import Range, by_batch, speed_at
from roles.tune.points import Point

USUAL = "1,8,32"
"""Concurrencies that are measured for a table where none are said."""
_SLOWER = 0.05


def check_engine(site: Site, manifest: Manifest) -> None:
    """Raises UsageError for an engine that does not know such a table."""
    kind, _, number = str(manifest.engine.get("source") or "").partition(":")
    known = traits(manifest.engine.get("version"), int(number) if kind == "pr" and number.isdigit() else None)
    if known.batch_table is False:
        raise UsageError(
            f"engine {known.version} takes no table of tokens by batch size; vLLM 0.24 and later do",
            where=[site.name],
            tries=["the same without --per-batch-size: one number for all", "engine.source: release:0.33.0"],
        )


def table_of(found: Answer) -> tuple[Range, ...]:
    """The table; () where one number is the best at every batch size."""
    ranges = by_batch(found.by_concurrency)
    return ranges if len(ranges) > 1 else ()


def as_lists(table: Sequence[Range]) -> list[JsonValue]:
    """As vLLM takes it."""
    return [[one.first, one.last, one.speculative_tokens] for one in table]


def changes(table: Sequence[Range]) -> Mapping[str, JsonValue]:
    """As inventory values."""
    most = max(one.speculative_tokens for one in table)
    return {"drafter.tokens": most, f"drafter.options.{KEY}": as_lists(table)}


def proven(trials: Trials, load: Load, found: Answer, table: Sequence[Range]) -> tuple[Confirmation, ...]:
    """Bring the table into service on trial, and measure it at each concurrency."""
    trials.serve_table(changes(table))
    measured = {point.concurrency: point.tok_s for point in measure(trials.site, load, None, None)}
    return tuple(_compared(found, table, measured))


def doubts(confirmations: Sequence[Confirmation], points: Sequence[Point]) -> Iterator[str]:
    """Where a table is slower than one number was: the engine may take it and not act on it."""
    for one in confirmations:
        alone = [
            point.tok_s
            for point in points
            if point.kind is None and point.concurrency == one.concurrency and point.tok_s is not None
        ]
        if alone and one.measured < (1 - _SLOWER) * max(alone):
            yield (
                f"with the table {one.concurrency} streams get {one.measured:.1f} tok/s, with one number "
                f"{max(alone):.1f}: engines are known that take a table and draft all tokens anyway "
                "(vllm-project/vllm#51510)"
            )


def _compared(
    found: Answer, table: Sequence[Range], measured: Mapping[int | None, float | None]
) -> Iterator[Confirmation]:
    ranges, _ = read_table(as_lists(table))
    most = max(one.tokens for one in ranges)
    for prediction in found.by_concurrency:
        streams, speed = prediction.concurrency or 1, measured.get(prediction.concurrency)
        if speed is not None:
            k = tokens_at(ranges, streams)
            alone, expected = prediction.at(k), speed_at(prediction, k, most)
            share = expected / alone.tok_s
            yield Confirmation(k, streams, expected, share * alone.low, share * alone.high, speed)
