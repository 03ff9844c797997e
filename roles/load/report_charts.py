"""Which charts a set of runs asks for."""

from collections.abc import Callable, Mapping, Sequence

from roles.load.charts import Series, bar_chart, distribution, line_chart
from roles.load.compare import per_position_rates
from roles.load.history import Run
from roles.load.plot import Load
from roles.load.side_by_side import SideBySide, sweeps
from roles.load.values import number, row


def charts_of(found: SideBySide) -> list[str]:
    """Charts as SVG; those without anything to draw are left out."""
    named = list(zip(found.names, found.runs, strict=True))
    speeds = [(name, value) for name, run in named if (value := number(run.summary, "total_tok_s"))]
    positions = [
        Series(name, list(enumerate(rates)), look)
        for look, (name, run) in enumerate(named)
        if (rates := per_position_rates(run))
    ]
    swept = sweeps(found)
    drawn = (
        bar_chart("Output of all streams", speeds, y="tok/s"),
        line_chart("Output over the load", _over_load(swept), x=_load_words(swept), y="tok/s"),
        line_chart("Output over what each token takes", _over_latency(swept), x="TPOT, ms", y="tok/s"),
        line_chart("Accepted, by position", positions, x="position", y="share of rounds"),
        _spread_of(named, "Time to first token", lambda request: number(request, "ttft_s"), 1e3, "ms"),
        _spread_of(named, "Time of an output token", _tpot, 1e3, "ms"),
        _spread_of(named, "End to end", lambda request: number(request, "latency_s"), 1, "s"),
    )
    return [chart for chart in drawn if chart]


def _load_words(swept: Mapping[str, Sequence[Load]]) -> str:
    signs = {one.sign for loads in swept.values() for one in loads}
    return " or ".join(word for sign, word in (("c", "streams"), ("r", "requests a second")) if sign in signs)


def _over_load(swept: Mapping[str, Sequence[Load]]) -> list[Series]:
    return [
        Series(name, [(one.amount, one.total_tok_s) for one in loads], look)
        for look, (name, loads) in enumerate(swept.items())
    ]


def _over_latency(swept: Mapping[str, Sequence[Load]]) -> list[Series]:
    return [
        Series(
            name,
            [(1e3 * one.tpot_s, one.total_tok_s) for one in loads if one.tpot_s is not None],
            look,
            [f"{one.sign}={one.amount:g}" for one in loads if one.tpot_s is not None],
        )
        for look, (name, loads) in enumerate(swept.items())
    ]


def _spread_of(
    named: Sequence[tuple[str, Run]],
    title: str,
    value_of: Callable[[object], float | None],
    factor: float,
    unit: str,
) -> str:
    series = []
    for look, (name, run) in enumerate(named):
        known = [factor * value for request in row(run.summary, "requests") if (value := value_of(request)) is not None]
        if known:
            series.append(Series(name, distribution(known), look))
    return line_chart(title, series, x=unit, y="share of requests", dots=False)


def _tpot(request: object) -> float | None:
    ttft_s, latency_s, tokens = (number(request, name) for name in ("ttft_s", "latency_s", "tokens"))
    return (latency_s - ttft_s) / (tokens - 1) if ttft_s is not None and latency_s and tokens and tokens > 1 else None
