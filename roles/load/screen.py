"""What the tables of runs are made of: columns without lines, indented lines with a word before them, changes."""

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from roles.load.compare import Row

_INDENT = 2


def columns(*names: str) -> Table:
    """A table with these heads: the first column to the left, numbers to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(names):
        table.add_column(name, justify="right" if index else "left", no_wrap=True)
    return table


def line(text: str, word: str | None = None, style: str = "") -> RenderableType:
    """A line of its own; the word before it carries the meaning, the colour repeats it."""
    return indented(Text.assemble((f"{word}: ", style), text) if word else Text(text))


def indented(what: RenderableType) -> RenderableType:
    """Two columns to the right."""
    return Padding(what, (0, 0, 0, _INDENT), expand=False)


def change_words(row: Row) -> Text:
    """A change with its word and bounds; "-" where there is none."""
    if row.change is None:
        return Text("-")
    word, style = ("about the same ", "dim") if row.same else ("", "")
    if row.better is not None:
        word, style = ("better ", "green") if row.better else ("worse ", "red")
    change = Text.assemble((word, style), f"{100 * row.change:+.1f} %")
    if row.low is not None and row.high is not None:
        change.append(f" ({100 * row.low:+.1f} to {100 * row.high:+.1f})", style="dim")
    return change
