"""How a tuning ended: what was predicted, what was measured, and what is in service now."""

from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from inventory.errors import ExitCode
from roles.tune.answer import Answer
from roles.tune.by_batch import Range
from roles.tune.points import Point
from roles.tune.table import tune_table


@dataclass(frozen=True)
class Confirmation:
    """A k that was predicted before it was measured."""

    speculative_tokens: int
    concurrency: int
    predicted: float
    low: float
    high: float
    measured: float

    @property
    def difference(self) -> float:
        """Measured over predicted, less one."""
        return self.measured / self.predicted - 1

    @property
    def inside(self) -> bool:
        """Whether what was measured lies in the interval that was predicted."""
        return self.low <= self.measured <= self.high

    def __str__(self) -> str:
        return (
            f"k={self.speculative_tokens}: predicted {self.predicted:.1f} tok/s ({self.low:.1f}-{self.high:.1f}), "
            f"measured {self.measured:.1f}: {100 * self.difference:+.1f} %, {self.where} the interval"
        )

    @property
    def where(self) -> str:
        """inside, or outside."""
        return "inside" if self.inside else "outside"

    def as_json(self) -> dict[str, object]:
        """All of it."""
        return {**vars(self), "difference": round(self.difference, 4), "inside": self.inside}


@dataclass(frozen=True)
class TuneOutcome:
    """What was found, and what is in service now.

    stays: the k that the measurements settle on
    table: tokens by batch size; None where none was asked for, or one number is the best everywhere
    notes: beside those of what was found
    """

    host: str
    found: Answer
    stays: int
    confirmations: tuple[Confirmation, ...]
    points: tuple[Point, ...]
    starts: int
    release: str | None
    words: str
    exit_code: ExitCode = ExitCode.DONE
    table: tuple[Range, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def most_tokens(self) -> int:
        """What drafter.tokens has to be."""
        return max(one.speculative_tokens for one in self.table) if self.table else self.stays

    @property
    def what(self) -> str:
        """What is the best, in a few words."""
        if self.table:
            return "by batch size " + ", ".join(
                f"{one.first}-{one.last}: {one.speculative_tokens}" for one in self.table
            )
        return f"k={self.stays}" if self.stays else "no speculation"

    def as_json(self) -> dict[str, object]:
        """All of it."""
        return {
            **self.found.as_json(),
            "best": self.stays,
            "predicted_best": self.found.best,
            "points": [point.model_dump(mode="json") for point in self.points],
            "confirmations": [one.as_json() for one in self.confirmations],
            **self._table_as_json(),
            "notes": [*self.found.notes, *self.notes],
            "starts": self.starts,
            "release": self.release,
            "outcome": self.words,
        }

    def _table_as_json(self) -> dict[str, object]:
        if not self.table:
            return {}
        return {"per_batch_size": [[one.first, one.last, one.speculative_tokens] for one in self.table]}

    def render(self) -> RenderableType:
        """The curve, prediction against measurement, and the next command."""

        parts: list[RenderableType] = [tune_table(self.found, title=f"tune · {self.host}"), Text()]
        if self.confirmations:
            parts += [Padding(self._compared(), (0, 0, 0, 2)), Text()]
        if self.table:
            parts.append(Text(f"  {self.what}"))
        parts += [Padding(Text.assemble(("note: ", "yellow"), note), (0, 0, 0, 2)) for note in self.notes]
        return Group(*parts, Text(f"  {self.words}"))

    def _compared(self) -> Table:
        several = len({one.concurrency for one in self.confirmations}) > 1
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("k", *(("streams",) if several else ()), "predicted", "90 %", "measured", ""):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for one in self.confirmations:
            table.add_row(
                str(one.speculative_tokens),
                *([str(one.concurrency)] if several else []),
                f"{one.predicted:.1f}",
                f"{one.low:.1f}-{one.high:.1f}",
                f"{one.measured:.1f}",
                f"{100 * one.difference:+.1f} %",
                f"{one.where} the interval",
            )
        return table
