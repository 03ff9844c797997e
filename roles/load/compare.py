"""Two runs side by side: what changed, under which conditions, and whether that may be said at all."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

from roles.conditions import PREVENTING, Difference, differences
from roles.load.history import Run
from roles.load.noise import RUN_TO_RUN, Change, judge

_ALIKE = 2.0  # design effect: rounds of one prompt are alike

_TIMED = (
    # metric, path in the summary, unit, more is better
    ("all streams", ("total_tok_s",), "tok/s", True),
    ("one stream", ("stream_tok_s",), "tok/s", True),
    ("after the first token", ("decode_tok_s",), "tok/s", True),
    ("TTFT p50", ("ttft_s", "p50"), "s", False),
    ("TTFT p99", ("ttft_s", "p99"), "s", False),
    ("TPOT mean", ("tpot_s", "mean"), "s", False),
    ("TPOT p99", ("tpot_s", "p99"), "s", False),
    ("end to end p50", ("e2e_s", "p50"), "s", False),
)


@dataclass(frozen=True)
class Row:
    """One number of both runs; change is relative (-0.1: a tenth less), None where it cannot or must not be said.

    better is None where there is no change to judge; why_not says why there is none although both numbers are known.
    same:      the change is no larger than what two runs of the same thing may show
    low, high: the change's bounds (95 %), where both runs have their requests' or rounds' spread
    """

    metric: str
    unit: str
    before: float | None
    after: float | None
    change: float | None
    better: bool | None
    why_not: str | None = None
    same: bool = False
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Comparison:
    """What changed between two runs.

    refusals:  why their numbers must not be compared; then no row has a change
    positions: acceptance of the positions that both runs have: (before, after), 0-1 of all rounds
    """

    before: Run
    after: Run
    refusals: tuple[str, ...]
    differences: tuple[Difference, ...]
    rows: tuple[Row, ...]
    positions: tuple[tuple[float, float], ...]

    def as_json(self) -> dict[str, object]:
        """The same facts for programs."""
        return {
            "before": {"id": self.before.id, "release": self.before.release, "at": self.before.at.isoformat()},
            "after": {"id": self.after.id, "release": self.after.release, "at": self.after.at.isoformat()},
            "comparable": not self.refusals,
            "refusals": list(self.refusals),
            "differences": [asdict(difference) for difference in self.differences],
            "rows": [asdict(row) for row in self.rows],
            "positions": [{"before": before, "after": after} for before, after in self.positions],
        }


def compare(before: Run, after: Run) -> Comparison:
    """Put two runs side by side. Acceptance length and draft acceptance rate are compared at equal k only."""
    differing = differences(*({"host": run.host, **run.conditions} for run in (before, after)))
    other_work = [different for different in differing if different.known and different.name in PREVENTING]
    refusals = (
        *(f"other work: {difference}" for difference in other_work),
        *(f"the run {which}: {doubt}" for which, run in (("before", before), ("now", after)) for doubt in _spoilt(run)),
    )
    why_not = refusals[0] if refusals else None
    rows = [
        _judged(
            _row(
                metric,
                unit,
                _at(before.summary, path),
                _at(after.summary, path),
                why_not,
                more_is_better=more_is_better,
            ),
            lambda metric, change: judge(metric, change, _requests(before), _requests(after)),
        )
        for metric, path, unit, more_is_better in _TIMED
    ]
    k, k_now = _at(before.counts, ("k",)), _at(after.counts, ("k",))
    if k is None or k != k_now:
        why_not = why_not or f"not comparable at another k ({_said(k)} -> {_said(k_now)})"
    rows += [
        _judged(
            _row(metric, unit, of(before), of(after), why_not, more_is_better=True),
            lambda _, change: _acceptance_change(before, after, change),
        )
        for metric, unit, of in (
            ("acceptance length", "tokens/round", _acceptance_length),
            ("draft acceptance rate", "", _acceptance_rate),
        )
    ]
    known = tuple(row for row in rows if row.before is not None or row.after is not None)
    positions = tuple(zip(_positions(before), _positions(after), strict=False))
    return Comparison(before, after, refusals, differing, known, positions)


def _spoilt(run: Run) -> list[str]:
    return [str(doubt.get("message")) for doubt in run.doubts if doubt.get("spoils")]


def _row(
    metric: str, unit: str, before: float | None, after: float | None, why_not: str | None, *, more_is_better: bool
) -> Row:
    if before is None or after is None:
        return Row(metric, unit, before, after, None, None)
    if why_not is not None or before == 0:
        return Row(metric, unit, before, after, None, None, why_not)
    better = None if after == before else (after > before) is more_is_better
    return Row(metric, unit, before, after, after / before - 1, better)


def _judged(row: Row, judgement: Callable[[str, float], Change]) -> Row:
    if row.change is None:
        return row
    found = judgement(row.metric, row.change)
    better = None if found.same else row.better
    return replace(row, same=found.same, better=better, low=found.low, high=found.high)


def _requests(run: Run) -> object:
    return (run.summary or {}).get("requests")


def _acceptance_change(before: Run, after: Run, change: float) -> Change:
    """Bounds from the spread of rounds; those of a prompt are alike, so the spread counts twice."""
    errors = [_relative_error(run) for run in (before, after)]
    if None in errors:
        return Change(None, None, abs(change) <= RUN_TO_RUN)
    reach = 1.96 * math.hypot(*(error or 0.0 for error in errors))
    return Change(change - reach, change + reach, abs(change) <= reach)


def _relative_error(run: Run) -> float | None:
    """Standard error of the acceptance length over itself. Acceptance nests: Var = sum (2i+1) P_i - (sum P_i)^2."""
    rates, rounds, length = _positions(run), _at(run.counts, ("rounds",)), _acceptance_length(run)
    if not rates or not rounds or length is None:
        return None
    variance = sum((2 * i + 1) * rate for i, rate in enumerate(rates)) - sum(rates) ** 2
    return math.sqrt(_ALIKE * max(0.0, variance) / rounds) / length


def _acceptance_length(run: Run) -> float | None:
    """Mean tokens a round, bonus included."""
    extra = _ratio(run, "accepted", "rounds")
    return None if extra is None else 1 + extra


def _acceptance_rate(run: Run) -> float | None:
    return _ratio(run, "accepted", "drafted")


def _ratio(run: Run, part: str, whole: str) -> float | None:
    count, of = _at(run.counts, (part,)), _at(run.counts, (whole,))
    return None if count is None or not of else count / of


def _positions(run: Run) -> list[float]:
    """Share of all rounds in which position i was accepted."""
    counts = (run.counts or {}).get("per_position")
    rounds = _at(run.counts, ("rounds",))
    if not rounds or not isinstance(counts, list | tuple):
        return []
    return [count / rounds for count in map(_number, counts) if count is not None]


def _at(values: object, path: tuple[str, ...]) -> float | None:
    for key in path:
        values = values.get(key) if isinstance(values, Mapping) else None
    return _number(values)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Outside of this a number is no measurement, and arithmetic with it leaves the floats.
    return float(value) if value == 0 or 1e-12 < abs(value) < 1e15 else None


def _said(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"
