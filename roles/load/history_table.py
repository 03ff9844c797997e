"""Measurements of the history as a list on a terminal, and as a page with charts."""

from collections.abc import Sequence

from rich.console import RenderableType

from roles.load.charts import Series, line_chart
from roles.load.compare import acceptance_length, drafted_a_round
from roles.load.figures import figures
from roles.load.history import Run
from roles.load.screen import columns
from roles.load.values import number
from templates.render import render

_HEADS = ("run", "when (UTC)", "kind", "c", "tok/s", "length", "k", "verdict", "release")


def history_table(runs: Sequence[Run], *, hosts: bool = False) -> RenderableType:
    """A line a run, in the order given; hosts: say whose each is."""
    table = columns(*_HEADS, *(["host"] if hosts else []))
    for run in runs:
        table.add_row(*_cells(run), *([run.host] if hosts else []))
    return table


def history_page(runs: Sequence[Run], *, title: str) -> str:
    """Runs from old to new as charts, and as a table from new to old, in one HTML file that needs nothing else."""
    return render(
        "report/history.html.j2",
        title=title,
        charts=[chart for chart in (_lengths(runs), _speeds(runs)) if chart],
        heads=(*_HEADS, "host"),
        rows=[(*_cells(run), run.host) for run in reversed(runs)],
    )


def _cells(run: Run) -> tuple[str, ...]:
    k, streams = drafted_a_round(run), number(run.conditions, "concurrency")
    return (
        "-" if run.id is None else f"{run.id}",
        f"{run.at:%Y-%m-%d %H:%M}",
        run.kind,
        "-" if streams is None else f"{streams:g}",
        figures(number(run.summary, "total_tok_s")),
        figures(acceptance_length(run)),
        "-" if k is None else f"{k:g}",
        run.verdict or "",
        run.release,
    )


def _lengths(runs: Sequence[Run]) -> str:
    """A line for each number of tokens: lengths at another one do not compare. What failed is named."""
    series = []
    for look, k in enumerate(dict.fromkeys(drafted_a_round(run) for run in runs if acceptance_length(run) is not None)):
        mine = [(place, run) for place, run in enumerate(runs, start=1) if drafted_a_round(run) == k]
        known = [(place, length, run) for place, run in mine if (length := acceptance_length(run)) is not None]
        points = [(place, length) for place, length, _ in known]
        words = [run.verdict if run.verdict not in {None, "pass"} else "" for _, _, run in known]
        series.append(Series("k unknown" if k is None else f"k={k:g}", points, look, [word or "" for word in words]))
    return line_chart("Acceptance length", series, x="measurements, old to new", y="tokens a round")


def _speeds(runs: Sequence[Run]) -> str:
    """A line for each concurrency."""
    known = [
        (place, number(run.conditions, "concurrency"), speed)
        for place, run in enumerate(runs, start=1)
        if (speed := number(run.summary, "total_tok_s")) is not None
    ]
    series = [
        Series(
            "c unknown" if streams is None else f"c={streams:g}",
            [(place, speed) for place, other, speed in known if other == streams],
            look,
        )
        for look, streams in enumerate(dict.fromkeys(streams for _, streams, _ in known))
    ]
    return line_chart("Output of all streams", series, x="measurements, old to new", y="tok/s")
