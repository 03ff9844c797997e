"""What a person is told while things happen: on stderr, so that stdout stays the answer."""

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.text import Text

from roles.step import Step

_SLOW_S = 2.0


class Progress:
    """A piece of work that is going on; `say` tells how far it is."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self.result: str | None = None
        self.good = True

    def say(self, text: str) -> None:
        """How far it is, in a few words."""
        self._show(text)

    def done(self, text: str, *, good: bool = True) -> None:
        """What came of it; printed when the work ends. good: whether that is what was hoped for."""
        self.result, self.good = text, good


class Talk:
    """Speaks for one host. redact takes secrets out of every word."""

    def __init__(
        self, console: Console, redact: Callable[[str], str] = lambda text: text, *, quiet: bool = False
    ) -> None:
        self._console = console
        self._redact = redact
        self._quiet = quiet

    def headline(self, text: str) -> None:
        """What begins now."""
        self._print(Text(self._redact(text), style="bold"))

    def note(self, text: str) -> None:
        """Something to know."""
        self._print(Text(f"  {self._redact(text)}"))

    def warn(self, text: str) -> None:
        """Something to look at; the word carries the meaning, not the colour."""
        self._print(Text.assemble(("  warning: ", "yellow"), self._redact(text)))

    def detail(self, text: str) -> None:
        """A line of somebody else's output."""
        self._print(Text(f"    {self._redact(text)}", style="dim"))

    def plan(self, steps: list[Step]) -> None:
        """A plan, one line a step, what changes below it."""
        for step in steps:
            mark, style = ("=", "dim") if not step.changes else ("+", "green") if step.action == "create" else ("~", "")
            self._print(Text(f"  {mark} {step.role:<10} {self._redact(step.summary)}", style=style))
            for what, old, new in step.diff:
                self._print(
                    Text(
                        self._redact(
                            f"      {what}: {old if old is not None else '-'} -> {new if new is not None else '-'}"
                        )
                    )
                )
            if step.note:
                self._print(Text(f"      note: {self._redact(step.note)}", style="yellow"))

    @contextlib.contextmanager
    def work(self, role: str, text: str) -> Iterator[Progress]:
        """Show that something goes on, and for how long; one line when it is over."""
        began = time.monotonic()
        live = self._console.file.isatty() and not self._quiet
        status = self._console.status(f"{role}: {text}") if live else contextlib.nullcontext()
        last: list[str] = []

        def show(words: str) -> None:
            words = self._redact(words)
            if live and hasattr(status, "update"):
                status.update(f"{role}: {text} · {words}")
            elif words not in last[-1:]:
                last.append(words)
                self._print(Text(f"  . {role:<10} {words}", style="dim"))

        progress = Progress(show)
        with status:
            try:
                yield progress
            except BaseException:
                self._print(Text(f"  x {role:<10} {self._redact(text)}{_took(began)}", style="red"))
                raise
        mark, style = ("*", "green") if progress.good else ("!", "red")
        self._print(Text(f"  {mark} {role:<10} {self._redact(progress.result or text)}{_took(began)}", style=style))

    def _print(self, text: Text) -> None:
        if not self._quiet:
            self._console.print(text, soft_wrap=True, highlight=False)


def _took(began: float) -> str:
    seconds = time.monotonic() - began
    return f"  ({seconds:.0f} s)" if seconds >= _SLOW_S else ""
