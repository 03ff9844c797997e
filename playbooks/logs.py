"""invoke logs: the end of the engine's log, or what the audit has of one operation."""

import sys
from dataclasses import dataclass, field

from rich.console import RenderableType

from inventory.errors import ExitCode, UsageError
from inventory.shell import command
from playbooks.flags import whole_number
from playbooks.reach import get_in
from playbooks.site import Site
from roles.release import audit

_LINES = 50
_FOREVER_S = 10 * 365 * 86400


@dataclass(frozen=True)
class Options:
    """Flags."""

    lines: str | None = None
    follow: bool = False
    operation: str | None = None
    as_json: bool = False


@dataclass(frozen=True)
class LogsOutcome:
    """The lines."""

    lines: tuple[str, ...] = field(default=())
    exit_code: ExitCode = ExitCode.DONE

    def as_json(self) -> dict[str, object]:
        """The lines."""
        return {"lines": list(self.lines)}

    def render(self) -> RenderableType:
        """The lines as they are: no wrapping, no colours of ours."""
        return "\n".join(self.lines)


def run(site: Site, options: Options) -> LogsOutcome:
    """Read; with `follow` until Ctrl-C. Raises UsageError."""
    if options.follow and options.as_json:
        raise UsageError("--follow prints lines as they come, which is no JSON document", tries=["leave out --json"])
    lines = whole_number("lines", options.lines, least=0)
    get_in(site)
    if options.operation is not None:
        entries = audit.parse(site.shell.run(audit.question(site.layout, 10_000)).stdout)
        found = [entry for entry in entries if entry.get("operation") == options.operation]
        if not found:
            raise UsageError(
                f"the audit has no operation {options.operation}",
                where=[site.name],
                tries=[f"invoke status --host {site.name}   (its last lines)"],
            )
        return LogsOutcome(tuple(" ".join(f"{key}={value}" for key, value in entry.items()) for entry in found))
    count = str(_LINES if lines is None else lines)
    tail = command("tail", "-n", count, *(["-F"] if options.follow else []), site.layout.log)
    if options.follow:
        site.if_interrupted = "the server runs on"
        site.shell.run(tail, timeout_s=_FOREVER_S, on_line=_print, check=False)
        return LogsOutcome()
    result = site.shell.run(tail, check=False)
    if not result.ok:
        site.talk.note(f"there is no log yet: {site.layout.log}")
    return LogsOutcome(tuple(result.stdout.splitlines()))


def _print(line: str) -> None:
    sys.stdout.write(line.rstrip("\n") + "\n")
    sys.stdout.flush()
