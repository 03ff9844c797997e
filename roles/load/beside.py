"""Numbers that are shown beside a run's and not judged: goodput, and what the engine did."""

from collections.abc import Iterator, Mapping, Sequence

from roles.load.figures import figures
from roles.load.history import Run
from roles.load.values import number

_ROOMS = frozenset({"engine", "gpus"})
_DEEPEST = 3
_BESIDE: Mapping[tuple[str, ...], tuple[str, float]] = {
    ("engine", "kv_usage"): ("KV cache full, %", 100),
    ("engine", "kv_usage", "mean"): ("KV cache full on average, %", 100),
    ("engine", "kv_usage", "peak"): ("KV cache full at most, %", 100),
    ("engine", "running", "mean"): ("requests running on average", 1),
    ("engine", "running", "peak"): ("requests running at most", 1),
    ("engine", "waiting", "mean"): ("requests waiting on average", 1),
    ("engine", "waiting", "peak"): ("requests waiting at most", 1),
    ("engine", "busy_before"): ("others' requests before", 1),
    ("engine", "prefix_hit_rate"): ("prefix cache hits, %", 100),
    ("engine", "queue_s"): ("queued, ms", 1e3),
    ("engine", "prefill_s"): ("prefill, ms", 1e3),
    ("goodput", "met"): ("requests that kept the limits", 1),
    ("goodput", "req_s"): ("goodput, requests a second", 1),
    ("gpus", "utilization"): ("GPUs busy, %", 100),
    ("gpus", "hottest_c"): ("hottest GPU, C", 1),
    ("gpus", "power_w"): ("GPUs' power, W", 1),
    ("gpus", "clock"): ("GPUs' clock of the highest, %", 100),
    ("gpus", "heat"): ("slowed by heat, % of the time", 100),
    ("gpus", "power_cap"): ("at the power limit, % of the time", 100),
}
_UNTOLD = frozenset({("engine", "readings"), ("gpus", "readings"), ("goodput", "sent")})


def beside(runs: Sequence[Run]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Goodput and what the engine did, whatever of it a run has."""
    paths = [
        path
        for run in runs
        for name, value in (run.summary or {}).items()
        if "goodput" in str(name) or name in _ROOMS
        for path in _numbers_in(value, (str(name),))
    ]
    found = []
    for path in dict.fromkeys(paths):
        if path in _UNTOLD:
            continue
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
    words = " ".join(path[1:] if path[0] in _ROOMS else path).replace("_", " ")
    if path[-1].endswith("_s") and not path[-1].endswith(("tok_s", "req_s")):
        return f"{words.removesuffix(' s')}, ms", 1e3
    if path[-1].endswith(("_rate", "_share")):
        return f"{words}, %", 100
    return words, 1
