"""Two or more runs side by side: every number, what differs, and what of it may be compared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from roles.conditions import short
from roles.load.compare import METRICS, Comparison, Row, compare
from roles.load.engines import Measure, apart, engine_of, measures, untold
from roles.load.figures import figures
from roles.load.history import Run
from roles.load.values import number

_LOAD = frozenset({"concurrency", "load", "rate", "burstiness"})
_DEEPEST = 3
_BESIDE: Mapping[tuple[str, ...], tuple[str, float]] = {
    ("engine", "kv_usage"): ("KV cache full, %", 100),
    ("engine", "kv_usage", "mean"): ("KV cache full on average, %", 100),
    ("engine", "kv_usage", "peak"): ("KV cache full at most, %", 100),
    ("engine", "prefix_hit_rate"): ("prefix cache hits, %", 100),
    ("engine", "queue_s"): ("queued, ms", 1e3),
    ("engine", "prefill_s"): ("prefill, ms", 1e3),
}


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

    against: each later run with the first one under the same load, else with the first of all; () for a sweep, whose
             runs are other work on purpose
    beside:      numbers that are shown and not judged: goodput, KV cache, queue; (name, a cell for each run)
    engines:     where engines or methods differ, what each measure means across them; () otherwise
    """

    runs: tuple[Run, ...]
    against: tuple[Against, ...]
    numbers: tuple[Number, ...]
    beside: tuple[tuple[str, tuple[str, ...]], ...]
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
            "engines": [measure.as_json() for measure in self.engines],
            "untold": list(self.untold),
        }


def side_by_side(runs: Sequence[Run]) -> SideBySide:
    """Put runs side by side: at least one."""
    conditions = _conditions(runs)
    differing = {one.name for one in conditions if one.differs}
    sweep = len(runs) > 2 and "concurrency" in differing and differing <= _LOAD | {"measured"}
    against = () if sweep else tuple(_against(runs))
    across = apart(runs) and bool(against)
    return SideBySide(
        runs=tuple(runs),
        against=against,
        numbers=tuple(_numbers(runs, against)),
        beside=_beside(runs),
        conditions=conditions,
        engines=measures(runs, [one.comparison for one in against]) if across else (),
        untold=untold(runs) if across else (),
        doubts=tuple(_doubts(runs)),
    )


def _against(runs: Sequence[Run]) -> Iterator[Against]:
    for place, run in enumerate(runs):
        if place:
            alike = (other for other in range(place) if _load(runs[other]) == _load(run))
            reference = next(alike, 0)
            yield Against(place + 1, reference + 1, compare(runs[reference], run))


def _load(run: Run) -> tuple[object, ...]:
    return tuple(run.conditions.get(name) for name in sorted(_LOAD))


def _numbers(runs: Sequence[Run], against: Sequence[Against]) -> Iterator[Number]:
    changes = {one.place: {row.metric: row for row in one.comparison.rows} for one in against}
    for metric in METRICS:
        values = tuple(metric.of(run) for run in runs)
        if any(value is not None for value in values):
            rows = (changes.get(place, {}).get(metric.name) for place in range(1, len(runs) + 1))
            yield Number(metric.name, metric.unit, values, tuple(rows))


def _beside(runs: Sequence[Run]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Goodput and what the engine did, whatever of it a run has."""
    paths = [
        path
        for run in runs
        for name, value in (run.summary or {}).items()
        if "goodput" in str(name) or name == "engine"
        for path in _numbers_in(value, (str(name),))
    ]
    found = []
    for path in dict.fromkeys(paths):
        name, factor = _BESIDE.get(path) or _said(path)
        cells = tuple(_counted(number(run.summary, *path), factor) for run in runs)
        if any(cell != "-" for cell in cells):
            found.append((name, cells))
    return tuple(found)


def _numbers_in(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The ways to the numbers of a value, at most two keys deep."""
    if isinstance(value, Mapping) and len(path) < _DEEPEST:
        for name, inner in value.items():
            yield from _numbers_in(inner, (*path, str(name)))
    elif number(value) is not None:
        yield path


def _counted(value: float | None, factor: float) -> str:
    """Counts stay whole: 0 preemptions, not 0.00."""
    return f"{value:.0f}" if factor == 1 and value is not None and value.is_integer() else figures(value, factor)


def _said(path: tuple[str, ...]) -> tuple[str, float]:
    """A name that nobody gave a word, and the factor that its unit asks for."""
    words = " ".join(path[1:] if path[0] == "engine" else path).replace("_", " ")
    if path[-1].endswith("_s") and not path[-1].endswith("tok_s"):
        return f"{words.removesuffix(' s')}, ms", 1e3
    if path[-1].endswith(("_rate", "_share")):
        return f"{words}, %", 100
    return words, 1


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
    k, streams = run.conditions.get("k"), run.conditions.get("concurrency")
    method = run.conditions.get("method")
    drafting = "off" if method == "off" else " ".join(str(part) for part in (method, f"k={k}" if k else None) if part)
    parts = (engine_of(run) or "", drafting, f"c={streams}" if streams else "")
    return " ".join([f"{place}:", *(part for part in parts if part)])


def word(value: object) -> str:
    """A condition's value for people."""
    return "unknown" if value is None else short(value)
