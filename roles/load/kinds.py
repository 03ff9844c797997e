"""What one stream got by kind of prompt: a drafter that is good at code may be poor at prose."""

from collections.abc import Sequence

from roles.load.figures import figures
from roles.load.history import Run
from roles.load.values import number, row, text


def by_kind(runs: Sequence[Run]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """tok/s of one stream for each kind that a run has, a cell for each run; () where there is one kind or none."""
    speeds = [_speeds(run) for run in runs]
    kinds = list(dict.fromkeys(kind for one in speeds for kind in one))
    if len(kinds) < 2:
        return ()
    return tuple((kind, tuple(figures(one.get(kind)) for one in speeds)) for kind in kinds)


def _speeds(run: Run) -> dict[str, float]:
    """Tokens by time, pooled over a kind's requests."""
    totals: dict[str, tuple[float, float]] = {}
    for request in row(run.summary, "requests"):
        kind, tokens, latency_s = text(request, "kind"), number(request, "tokens"), number(request, "latency_s")
        if kind is not None and tokens is not None and latency_s:
            before = totals.get(kind, (0.0, 0.0))
            totals[kind] = (before[0] + tokens, before[1] + latency_s)
    return {kind: tokens / latency_s for kind, (tokens, latency_s) in totals.items()}
