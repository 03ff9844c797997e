"""Two or more runs side by side: every number, what differs, and what of it may be compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from roles.conditions import short
from roles.load.beside import beside
from roles.load.compare import METRICS, Comparison, Row, compare
from roles.load.engines import Measure, apart, engine_of, measures, untold
from roles.load.history import Run
from roles.load.kinds import by_kind
from roles.load.plot import Load
from roles.load.values import number

_LOAD = frozenset({"concurrency", "load", "rate", "burstiness"})


@dataclass(frozen=True)
class Number:
    """One number of every run; changes are those of `Against`, None for a run that is compared with none."""

    metric: str
    unit: str
    values: tuple[float | None, ...]
    changes: tuple[Row | None, ...]


@dataclass(frozen=True)
class Condition:
    """What the runs were measured under; a value is None where it is not known."""

    name: str
    values: tuple[object, ...]

    @property
    def differs(self) -> bool:
        """Whether it is not the same for all, or not known of all."""
        return any(value != self.values[0] for value in self.values)

    @property
    def apart(self) -> bool:
        """Whether at least two are known, and not the same."""
        known = [value for value in self.values if value is not None]
        return any(value != known[0] for value in known)


@dataclass(frozen=True)
class Against:
    """A run compared with an earlier one; places count from 1."""

    place: int
    reference: int
    comparison: Comparison


@dataclass(frozen=True)
class Said:
    """A doubt about some of the runs, by their places; spoils: their numbers are not compared."""

    places: tuple[int, ...]
    message: str
    spoils: bool


@dataclass(frozen=True)
class SideBySide:
    """Runs in the order given.

    against: each later run with the first one under the same load, else with the first of all; none for the further
             loads of a sweep, which are other work on purpose
    beside:      numbers that are shown and not judged: goodput, KV cache, queue; (name, a cell for each run)
    kinds:       tok/s of one stream by kind of prompt, likewise
    engines:     where engines or methods differ, what each measure means across them; () otherwise
    """

    runs: tuple[Run, ...]
    against: tuple[Against, ...]
    numbers: tuple[Number, ...]
    beside: tuple[tuple[str, tuple[str, ...]], ...]
    kinds: tuple[tuple[str, tuple[str, ...]], ...]
    conditions: tuple[Condition, ...]
    engines: tuple[Measure, ...]
    untold: tuple[str, ...]
    doubts: tuple[Said, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Short and different: the place, and what a run is best told by."""
        return tuple(_name(place, run) for place, run in enumerate(self.runs, start=1))

    def as_json(self) -> dict[str, object]:
        """The same facts for programs; single requests are left out."""
        return {
            "runs": [
                {
                    "id": run.id,
                    "kind": run.kind,
                    "host": run.host,
                    "release": run.release,
                    "at": run.at.isoformat(timespec="seconds"),
                    "conditions": dict(run.conditions),
                    "summary": {name: value for name, value in (run.summary or {}).items() if name != "requests"},
                    "counts": dict(run.counts) if run.counts else None,
                    "doubts": [dict(doubt) for doubt in run.doubts],
                }
                for run in self.runs
            ],
            "conditions": {one.name: {"values": list(one.values), "differs": one.differs} for one in self.conditions},
            "comparisons": [
                {
                    "run": one.place,
                    "with": one.reference,
                    "verdict": one.comparison.verdict,
                    **one.comparison.as_json(),
                }
                for one in self.against
            ],
            "kinds": {kind: list(cells) for kind, cells in self.kinds},
            "engines": [measure.as_json() for measure in self.engines],
            "untold": list(self.untold),
        }


def side_by_side(runs: Sequence[Run]) -> SideBySide:
    """Put runs side by side: at least one."""
    against = tuple(_against(runs))
    across = apart(runs) and bool(against)
    return SideBySide(
        runs=tuple(runs),
        against=against,
        numbers=tuple(_numbers(runs, against)),
        beside=beside(runs),
        kinds=by_kind(runs),
        conditions=_conditions(runs),
        engines=measures(runs, [one.comparison for one in against]) if across else (),
        untold=untold(runs) if across else (),
        doubts=tuple(_doubts(runs)),
    )


def sweeps(found: SideBySide) -> dict[str, list[Load]]:
    """Runs of three or more loads that are alike in everything else, by name, each with rising loads."""
    loads: dict[str, list[Load]] = {}
    for name, run in zip(found.names, found.runs, strict=True):
        rate, total = number(run.conditions, "rate"), number(run.summary, "total_tok_s")
        amount = number(run.conditions, "concurrency") if rate is None else rate
        if amount and total:
            load = Load(amount, total, number(run.summary, "tpot_s", "mean"), "c" if rate is None else "r")
            loads.setdefault(_apart_from_load(name, run), []).append(load)
    found_loads = {name: sorted(points, key=lambda one: one.amount) for name, points in loads.items()}
    return {name: points for name, points in found_loads.items() if len({one.amount for one in points}) > 2}


def _apart_from_load(name: str, run: Run) -> str:
    return f"{' '.join(part for part in name.split()[1:] if part[:2] not in {'c=', 'r='})} {run.release}".strip()


def _against(runs: Sequence[Run]) -> Iterator[Against]:
    for place, run in enumerate(runs):
        earlier = runs[:place]
        alike = next((other for other, one in enumerate(earlier) if _load(one) == _load(run)), None)
        if alike is None and len(runs) > 2 and any(_work(one) == _work(run) for one in earlier):
            continue  # one more load of a sweep
        if place:
            reference = alike or 0
            yield Against(place + 1, reference + 1, compare(runs[reference], run))


def _work(run: Run) -> tuple[object, ...]:
    """All that is not load."""
    told = {name: value for name, value in run.conditions.items() if name not in _LOAD}
    return run.host, run.release, sorted((name, str(value)) for name, value in told.items())


def _load(run: Run) -> tuple[object, ...]:
    return tuple(run.conditions.get(name) for name in sorted(_LOAD))


def _numbers(runs: Sequence[Run], against: Sequence[Against]) -> Iterator[Number]:
    changes = {one.place: {row.metric: row for row in one.comparison.rows} for one in against}
    for metric in METRICS:
        values = tuple(metric.of(run) for run in runs)
        if any(value is not None for value in values):
            rows = (changes.get(place, {}).get(metric.name) for place in range(1, len(runs) + 1))
            yield Number(metric.name, metric.unit, values, tuple(rows))


def _conditions(runs: Sequence[Run]) -> tuple[Condition, ...]:
    """Those that are known to differ first, then those that not every run knows."""
    names = dict.fromkeys(name for run in runs for name in run.conditions)
    rows = [
        Condition("release", tuple(run.release for run in runs)),
        Condition("host", tuple(run.host for run in runs)),
        Condition("measured", tuple(f"{run.at:%Y-%m-%d %H:%M %Z}" for run in runs)),
        *(Condition(name, tuple(run.conditions.get(name) for run in runs)) for name in names),
    ]
    told = [row for row in rows if any(value is not None for value in row.values)]
    return tuple(sorted(told, key=lambda row: (not row.apart, not row.differs)))


def _doubts(runs: Sequence[Run]) -> Iterator[Said]:
    """Each once, the worst first."""
    places: dict[tuple[bool, str], list[int]] = {}
    for place, run in enumerate(runs, start=1):
        for doubt in run.doubts:
            places.setdefault((bool(doubt.get("spoils")), str(doubt.get("message"))), []).append(place)
    for (spoils, message), found in sorted(places.items(), key=lambda item: not item[0][0]):
        yield Said(tuple(found), message, spoils)


def _name(place: int, run: Run) -> str:
    k, streams, rate = (run.conditions.get(name) for name in ("k", "concurrency", "rate"))
    method = run.conditions.get("method")
    drafting = "off" if method == "off" else " ".join(str(part) for part in (method, f"k={k}" if k else None) if part)
    parts = (engine_of(run) or "", drafting, f"r={rate}" if rate else f"c={streams}" if streams else "")
    return " ".join([f"{place}:", *(part for part in parts if part)])


def word(value: object) -> str:
    """A condition's value for people."""
    return "unknown" if value is None else short(value)
