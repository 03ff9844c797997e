"""Two runs side by side: what changed, under which conditions, and whether that may be said at all."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Literal, NamedTuple

from roles.conditions import PREVENTING, Difference, differences
from roles.load.history import Run
from roles.load.noise import RUN_TO_RUN, Change, judge
from roles.load.values import number, row

Verdict = Literal["yes", "with care", "no"]
"""Whether two runs' numbers may be compared."""

_ALIKE = 2.0  # design effect: rounds of one prompt are alike
_OTHER_LENGTH = 0.1
_HARDWARE = frozenset({"gpu", "driver", "tensor_parallel"})


class Metric(NamedTuple):
    """A number that runs are compared by; path is where a summary has it, () for those of acceptance."""

    name: str
    unit: str
    path: tuple[str, ...] = ()
    more_is_better: bool = True

    def of(self, run: Run) -> float | None:
        """The run's value."""
        if self.path:
            return number(run.summary, *self.path)
        return acceptance_rate(run) if self.name == RATE else acceptance_length(run)


LENGTH, RATE = "acceptance length", "draft acceptance rate"
METRICS = (
    Metric("all streams", "tok/s", ("total_tok_s",)),
    Metric("one stream", "tok/s", ("stream_tok_s",)),
    Metric("after the first token", "tok/s", ("decode_tok_s",)),
    Metric("TTFT p50", "s", ("ttft_s", "p50"), more_is_better=False),
    Metric("TTFT p99", "s", ("ttft_s", "p99"), more_is_better=False),
    Metric("TPOT mean", "s", ("tpot_s", "mean"), more_is_better=False),
    Metric("TPOT p99", "s", ("tpot_s", "p99"), more_is_better=False),
    Metric("end to end p50", "s", ("e2e_s", "p50"), more_is_better=False),
    Metric(LENGTH, "tokens/round"),
    Metric(RATE, ""),
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
    cares:     what a reader of the changes must know: other machines or clients, work that may not be the same
    positions: acceptance of the positions that both runs have: (before, after), 0-1 of all rounds
    """

    before: Run
    after: Run
    refusals: tuple[str, ...]
    cares: tuple[str, ...]
    differences: tuple[Difference, ...]
    rows: tuple[Row, ...]
    positions: tuple[tuple[float, float], ...]

    @property
    def verdict(self) -> Verdict:
        """Whether the numbers may be compared."""
        return "no" if self.refusals else "with care" if self.cares else "yes"

    @property
    def words(self) -> str:
        """The verdict with its reasons, in one line."""
        if self.refusals:
            return f"not comparable: {'; '.join(self.refusals)}"
        return f"comparable with care: {'; '.join(self.cares)}" if self.cares else "comparable"

    def as_json(self) -> dict[str, object]:
        """The same facts for programs."""
        return {
            "before": {"id": self.before.id, "release": self.before.release, "at": self.before.at.isoformat()},
            "after": {"id": self.after.id, "release": self.after.release, "at": self.after.at.isoformat()},
            "comparable": not self.refusals,
            "refusals": list(self.refusals),
            "cares": list(self.cares),
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
    longer = _longer(before, after)
    k, k_now = drafted_a_round(before), drafted_a_round(after)
    other_k = None if k is not None and k == k_now else f"not comparable at another k ({_said(k)} -> {_said(k_now)})"
    rows = []
    for metric in METRICS:
        own = longer if metric.path[:1] == ("e2e_s",) else None if metric.path else other_k
        rows.append(_judged(_row(metric, before, after, refusals[0] if refusals else own), metric, before, after))
    known = tuple(row for row in rows if row.before is not None or row.after is not None)
    positions = tuple(zip(per_position_rates(before), per_position_rates(after), strict=False))
    return Comparison(before, after, refusals, tuple(_cares(differing, longer)), differing, known, positions)


def _cares(differing: tuple[Difference, ...], longer: str | None) -> Iterator[str]:
    unknown = [one.name for one in differing if one.name in PREVENTING and None in (one.before, one.after)]
    if unknown:
        yield f"not known to be the same on both sides: {', '.join(unknown)}"
    for one in differing:
        if one.named_alike:
            yield f"taken for the same model: {one.before} and {one.after}"
        elif one.known and one.name in _HARDWARE:
            yield f"other hardware: {one}"
        elif one.known and one.name == "tool":
            yield f"measured by another client: {one}; waits hold each client's own delay"
    if longer:
        yield longer


def _longer(before: Run, after: Run) -> str | None:
    """Whether answers are of another length: then whole answers do not compare, whatever max_tokens was."""
    old, new = (_mean_tokens(run) for run in (before, after))
    if not old or not new or abs(new / old - 1) <= _OTHER_LENGTH:
        return None
    return f"answers of another length: {old:.0f} -> {new:.0f} tokens on average"


def _mean_tokens(run: Run) -> float | None:
    tokens, answers = number(run.summary, "output_tokens"), number(run.summary, "requests_ok")
    return tokens / answers if tokens and answers else None


def _spoilt(run: Run) -> list[str]:
    return [str(doubt.get("message")) for doubt in run.doubts if doubt.get("spoils")]


def _row(metric: Metric, before: Run, after: Run, why_not: str | None) -> Row:
    old, new = metric.of(before), metric.of(after)
    if old is None or new is None:
        return Row(metric.name, metric.unit, old, new, None, None)
    if why_not is not None or old == 0:
        return Row(metric.name, metric.unit, old, new, None, None, why_not)
    better = None if new == old else (new > old) is metric.more_is_better
    return Row(metric.name, metric.unit, old, new, new / old - 1, better)


def _judged(row: Row, metric: Metric, before: Run, after: Run) -> Row:
    if row.change is None:
        return row
    if metric.path:
        found = judge(metric.name, row.change, _requests(before), _requests(after))
    else:
        found = _acceptance_change(before, after, row.change)
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
    rates, rounds, length = per_position_rates(run), number(run.counts, "rounds"), acceptance_length(run)
    if not rates or not rounds or length is None:
        return None
    variance = sum((2 * i + 1) * rate for i, rate in enumerate(rates)) - sum(rates) ** 2
    return math.sqrt(_ALIKE * max(0.0, variance) / rounds) / length


def acceptance_length(run: Run) -> float | None:
    """Mean tokens a round, bonus included: from counts, or what the tool read off the server."""
    extra = _ratio(run, "accepted", "rounds")
    return number(run.summary, "acceptance_length") if extra is None else 1 + extra


def drafted_a_round(run: Run) -> float | None:
    """How many tokens are drafted a round (k), as counted or else as configured."""
    counted = number(run.counts, "k")
    return number(run.conditions, "k") if counted is None and run.counts is None else counted


def acceptance_rate(run: Run) -> float | None:
    """Accepted of drafted tokens, 0-1: only comparable at equal k. Without counts it follows from length and k."""
    length, k = acceptance_length(run), drafted_a_round(run)
    if run.counts is None and length is not None and k:
        return (length - 1) / k
    return _ratio(run, "accepted", "drafted")


def _ratio(run: Run, part: str, whole: str) -> float | None:
    count, of = number(run.counts, part), number(run.counts, whole)
    return None if count is None or not of else count / of


def per_position_rates(run: Run) -> list[float]:
    """Share of all rounds in which position i was accepted."""
    rounds = number(run.counts, "rounds")
    counts = map(number, row(run.counts, "per_position")) if rounds else ()
    return [count / rounds for count in counts if count is not None and rounds]


def _said(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"
