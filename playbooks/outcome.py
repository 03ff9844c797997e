"""What a verb leaves behind: something to print, something for programs, and an exit code."""

from typing import Protocol

from rich.console import RenderableType

from inventory.errors import ExitCode


class Outcome(Protocol):
    """The answer of one verb for one host."""

    @property
    def exit_code(self) -> ExitCode:
        """How it ended."""

    def as_json(self) -> dict[str, object]:
        """All facts, for programs."""

    def render(self) -> RenderableType:
        """The answer for people; goes to stdout. Text is printed as it is, whatever the width."""
