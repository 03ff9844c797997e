"""invoke history: what was measured before, as a plot, a page and a list whose numbers bench.compare takes."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from inventory.errors import ExitCode, SpecrailError, UsageError
from playbooks.cli import CHECKOUT, plain_console, print_json, report
from playbooks.flags import whole_number
from playbooks.site import Site, history_in, state_folder
from roles.acceptance.plot import Point, terminal
from roles.load.compare import acceptance_length, drafted_a_round
from roles.load.history import Run
from roles.load.history_table import history_page, history_table
from roles.load.values import whole

_MOST = 200
_LISTED = 10


@dataclass(frozen=True)
class Options:
    """Flags. html is a file to write."""

    last: str | None = None
    html: str | None = None


@dataclass(frozen=True)
class HistoryOutcome:
    """Runs, oldest first."""

    host: str
    runs: tuple[Run, ...]
    html: str | None = None
    exit_code: ExitCode = ExitCode.DONE

    def as_json(self) -> dict[str, object]:
        """Each run's id (what --compare takes) and counts; null for one without speculation."""
        return {"runs": [_as_json(run) for run in self.runs], "html": self.html}

    def render(self) -> RenderableType:
        """A plot for each number of tokens (lengths at another one do not compare), and the latest runs."""
        if not self.runs:
            return f"nothing was measured on {self.host} yet\n  Try:  invoke bench --host {self.host}"
        parts: list[RenderableType] = []
        for tokens in dict.fromkeys(drafted_a_round(run) for run in self.runs if acceptance_length(run) is not None):
            k = "unknown" if tokens is None else f"{tokens:g}"
            drawn = terminal(_points(self.runs, tokens))
            parts += [Text(f"{self.host}, k={k}: acceptance length"), Text(drawn), Text()]
        parts.append(history_table(self.runs[-_LISTED:]))
        if self.html:
            parts.append(Text(f"page: {self.html}"))
        return Group(*parts)


def run(site: Site, options: Options) -> HistoryOutcome:
    """Read the controller's history of a host; the host is not asked."""
    runs = site.history.list(site.name, limit=whole_number("last", options.last) or _MOST)
    _write(options.html, runs, site.name)
    return HistoryOutcome(site.name, runs, options.html)


def run_all(options: Options, *, as_json: bool) -> int:
    """Read all of the controller's history, of hosts that are in no inventory too. Returns the exit code."""
    try:
        runs = history_in(state_folder(CHECKOUT)).list(limit=whole_number("last", options.last) or _MOST)
        _write(options.html, runs, "all hosts")
    except SpecrailError as error:
        return report(error, plain_console(sys.stderr), as_json=as_json, verb="history")
    if as_json:
        told = [{"host": one.host, **_as_json(one)} for one in runs]
        print_json({"verb": "history", "exit_code": 0, "runs": told, "html": options.html})
    else:
        plain_console(sys.stdout).print(history_table(runs, hosts=True))
    return 0


def _write(path: str | None, runs: Sequence[Run], whose: str) -> None:
    if path is None:
        return
    try:
        Path(path).write_text(history_page(runs, title=f"{whose}: what was measured"), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--html {path}: {error.strerror}") from error


def _points(runs: Sequence[Run], tokens: float | None) -> list[Point]:
    return [
        Point(f"{one.at:%Y-%m-%d %H:%M}", length, f"{one.kind} {one.release}", one.verdict)
        for one in runs
        if drafted_a_round(one) == tokens and (length := acceptance_length(one)) is not None
    ]


def _as_json(run: Run) -> dict[str, object]:
    return {
        "id": run.id,
        "at": run.at.isoformat(timespec="seconds"),
        "kind": run.kind,
        "release": run.release,
        "verdict": run.verdict,
        "acceptance_length": acceptance_length(run),
        **{name: whole(run.counts, name) for name in ("rounds", "accepted", "drafted")},
        "speculative_tokens": whole({"k": drafted_a_round(run)}, "k"),
        "conditions": dict(run.conditions),
    }
