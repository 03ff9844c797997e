"""Runs side by side on a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from roles.load.compare import LENGTH, Row, acceptance_length
from roles.load.engines import notes
from roles.load.figures import figures
from roles.load.history import Run
from roles.load.plot import speed_over_latency
from roles.load.screen import change_words, columns, indented, line
from roles.load.side_by_side import Number, SideBySide, sweeps, word
from roles.load.values import number

_BOUNDS_FIT, _COLUMNS_FIT = 3, 4  # more runs than this, and only changes are shown; and runs are lines, not columns
_MAIN = {
    "all streams": "all tok/s",
    "one stream": "one tok/s",
    "TTFT p50": "TTFT p50 ms",
    "TPOT mean": "TPOT mean ms",
    LENGTH: "length",
}
_ROOM = 96  # characters for all runs' values of a line


def side_table(found: SideBySide, *, title: str) -> RenderableType:
    """All of it: which runs, whether they may be compared, the numbers, what differs, and what engines count."""
    return Group(
        Text(title, style="bold"),
        *(line(name + _where(found, place)) for place, name in enumerate(found.names)),
        Text(),
        *_verdicts(found),
        indented(_numbers(found) if len(found.runs) <= _COLUMNS_FIT else _lines(found)),
        *([line("~: about the same")] if len(found.runs) > _COLUMNS_FIT else []),
        *_plot(found),
        *_engines(found),
        *_conditions(found),
        *_doubts(found),
    )


def _where(found: SideBySide, place: int) -> str:
    run = found.runs[place]
    known = "" if run.id is None else f"run {run.id}, "
    return f"   {known}{run.kind} of {run.at:%Y-%m-%d %H:%M} on {run.host}, {run.release}"


def _verdicts(found: SideBySide) -> Iterator[RenderableType]:
    for one in found.against:
        style = {"yes": "green", "with care": "yellow", "no": "red"}[one.comparison.verdict]
        yield line(one.comparison.words, f"{one.place} against {one.reference}", style)
    if found.against:
        yield Text()


def _numbers(found: SideBySide) -> Table:
    table = columns("", *(f"{place}" for place in range(1, len(found.runs) + 1)))
    for one in found.numbers:
        table.add_row(_label(one), *(_cell(found, one, place) for place in range(len(found.runs))))
    for name, cells in found.beside:
        table.add_row(name, *cells)
    for kind, cells in found.kinds:
        table.add_row(f"one stream tok/s, {kind}", *cells)
    return table


def _lines(found: SideBySide) -> Table:
    """A line a run, with the numbers that matter most: the page and --json have all."""
    shown = [one for name in _MAIN for one in found.numbers if one.metric == name]
    table = columns("", *(_MAIN[one.metric] for one in shown))
    for place in range(len(found.runs)):
        table.add_row(f"{place + 1}", *(_in_short(one, place) for one in shown))
    return table


def _in_short(one: Number, place: int) -> str:
    row = one.changes[place]
    change = "" if row is None or row.change is None else f"  {100 * row.change:+.1f} %{' ~' if row.same else ''}"
    return f"{figures(one.values[place], 1e3 if one.unit == 's' else 1)}{change}"


def _label(one: Number) -> str:
    return f"{one.metric} {'ms' if one.unit == 's' else one.unit}".rstrip()


def _cell(found: SideBySide, one: Number, place: int) -> Text:
    value, row = one.values[place], one.changes[place]
    shown = Text(figures(value, 1e3 if one.unit == "s" else 1))
    if row is not None and row.change is not None:
        shown.append("  ")
        shown.append_text(change_words(row if len(found.runs) <= _BOUNDS_FIT else _without_bounds(row)))
    return shown


def _without_bounds(row: Row) -> Row:
    return Row(row.metric, row.unit, row.before, row.after, row.change, row.better, row.why_not, row.same)


def _plot(found: SideBySide) -> Iterator[RenderableType]:
    if drawn := speed_over_latency(sweeps(found)):
        yield Text()
        yield indented(Text(drawn, no_wrap=True))


def _engines(found: SideBySide) -> Iterator[RenderableType]:
    if not found.engines:
        return
    yield Text()
    yield Text("across engines", style="bold")
    table = columns("", *(f"{place}" for place in range(1, len(found.runs) + 1)), "comparable")
    for measure in found.engines:
        cells = (_cut(cell, _ROOM // len(found.runs) - 4) for cell in measure.cells)
        table.add_row(measure.name, *cells, measure.comparable or "")
    yield indented(table)
    yield Text()
    for names, why in notes(found.engines):
        yield line(why, names, "dim")
    if found.untold:
        yield line(", ".join(found.untold), "not every run says", "yellow")


def _conditions(found: SideBySide) -> Iterator[RenderableType]:
    yield Text()
    differing = [one for one in found.conditions if one.differs]
    table = columns("differs", *(f"{place}" for place in range(1, len(found.runs) + 1)))
    for one in differing:
        table.add_row(one.name, *(_cut(word(value), _ROOM // len(found.runs)) for value in one.values))
    if differing:
        yield indented(table)
    same = [f"{one.name} {word(one.values[0])}" for one in found.conditions if not one.differs]
    if same:
        yield line(", ".join(same), "same", "dim")


def _cut(text: str, most: int) -> str:
    """The end of a long value: of paths and versions it tells most."""
    return text if len(text) <= most else f"…{text[1 - most :]}"


def _doubts(found: SideBySide) -> Iterator[RenderableType]:
    for said in found.doubts:
        places = ", ".join(map(str, said.places))
        yield line(
            said.message, f"{'doubt' if said.spoils else 'note'} about {places}", "red" if said.spoils else "yellow"
        )


def imported_table(runs: Sequence[Run], new: int) -> RenderableType:
    """What a file held, as the history has it."""
    table = columns("run", "host", "tool", "c", "all tok/s", "TTFT p50 ms", "length")
    for run in runs:
        table.add_row(
            "-" if run.id is None else f"{run.id}",
            run.host,
            str(run.conditions.get("tool") or "-"),
            str(run.conditions.get("concurrency") or "-"),
            figures(number(run.summary, "total_tok_s")),
            figures(number(run.summary, "ttft_s", "p50"), 1e3),
            figures(acceptance_length(run)),
        )
    known = len(runs) - new
    head = f"{new} new in the history"
    if known:
        head += f", {known} {'was' if known == 1 else 'were'} there already"
    if not new:
        head += f": {', '.join(f'run {run.id} of {run.host}' for run in runs)}"
    return Group(Text(head, style="bold"), indented(table))
