"""invoke history: what was measured of a host before, as a plot, a page and a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from inventory.errors import ExitCode, UsageError
from playbooks.flags import whole_number
from playbooks.site import Site
from roles.acceptance.plot import Point, page, terminal
from roles.load.history import Run


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
        parts = []
        for tokens in dict.fromkeys(_tokens(run) for run in self.runs if _length(run) is not None):
            parts += [f"{self.host}, k={tokens}: acceptance length", terminal(_points(self.runs, tokens)), ""]
        parts += [_line(run) for run in self.runs[-10:]]
        if self.html:
            parts.append(f"page: {self.html}")
        return "\n".join(parts)


def run(site: Site, options: Options) -> HistoryOutcome:
    """Read the controller's history; the host is not asked."""
    limit = whole_number("last", options.last) or 200
    runs = site.history.list(site.name, limit=limit)
    if options.html is not None:
        points = [point for tokens in dict.fromkeys(map(_tokens, runs)) for point in _points(runs, tokens)]
        try:
            Path(options.html).write_text(page(f"{site.name}: acceptance", points), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--html {options.html}: {error.strerror}") from error
    return HistoryOutcome(site.name, runs, options.html)


def _points(runs: Sequence[Run], tokens: int | None) -> list[Point]:
    return [
        Point(f"{one.at:%Y-%m-%d %H:%M}", length, f"{one.kind} {one.release} k={tokens}", one.verdict)
        for one in runs
        if _tokens(one) == tokens and (length := _length(one)) is not None
    ]


def _number(run: Run, name: str) -> int | None:
    value = run.counts.get(name) if run.counts else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _tokens(run: Run) -> int | None:
    return _number(run, "k")


def _length(run: Run) -> float | None:
    rounds, accepted = _number(run, "rounds"), _number(run, "accepted")
    return 1 + accepted / rounds if rounds and accepted is not None else None


def _as_json(run: Run) -> dict[str, object]:
    return {
        "id": run.id,
        "at": run.at.isoformat(timespec="seconds"),
        "kind": run.kind,
        "release": run.release,
        "verdict": run.verdict,
        "acceptance_length": _length(run),
        **{name: _number(run, name) for name in ("rounds", "accepted", "drafted")},
        "speculative_tokens": _tokens(run),
        "conditions": dict(run.conditions),
    }


def _line(run: Run) -> str:
    length = _length(run)
    said = f"{length:.2f}" if length is not None else "-"
    told = f"{run.id:>5}  {run.at:%Y-%m-%d %H:%M}  {run.kind:<5}  {said:>5}  k={_tokens(run) or '-'}"
    return f"{told}  {run.verdict or '':<12}  {run.release}"
