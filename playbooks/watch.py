"""invoke watch: follow a server's acceptance, and say each event once."""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from inventory.errors import ExitCode, SpecrailError, UsageError
from playbooks.flags import whole_number
from playbooks.reach import get_in
from playbooks.site import Site
from roles.acceptance import remote, watching
from roles.acceptance.judgement import Judgement
from roles.acceptance.judgement_text import as_text
from roles.acceptance.loglines import LogReader
from roles.acceptance.watching import Event, State

_READ_TIMEOUT_S = 300
_CODES = {"pass": ExitCode.DONE, "fail": ExitCode.FAILED, "inconclusive": ExitCode.INCONCLUSIVE}


@dataclass(frozen=True)
class Options:
    """Flags. interval is in seconds."""

    once: bool = False
    interval: str | None = None
    textfile: str | None = None


@dataclass(frozen=True)
class WatchOutcome:
    """The last look."""

    state: State
    events: tuple[Event, ...]
    judgement: Judgement

    @property
    def exit_code(self) -> ExitCode:
        """1 while an alarm goes on, 4 when nothing can be said, else 0."""
        return ExitCode.FAILED if self.state.alarm is not None else _CODES[self.judgement.outcome]

    def as_json(self) -> dict[str, object]:
        """All of it."""
        return watching.as_json(self.state, self.events, self.judgement)

    def render(self) -> RenderableType:
        """Silence when nothing happened, so that cron sends no mail."""
        return "\n".join(_line(self.judgement.label, event) for event in self.events) or (
            as_text(self.judgement) if self.state.alarm is None and self.exit_code else ""
        )


def run(site: Site, options: Options, *, wait: Callable[[float], None] = time.sleep) -> WatchOutcome:
    """Look once, or until Ctrl-C. Where it was is kept on the controller, for each host."""
    interval = whole_number("interval", options.interval) or 30
    textfile = Path(options.textfile) if options.textfile else None
    if textfile is not None and not textfile.parent.is_dir():
        raise UsageError(f"--textfile: there is no folder {textfile.parent}")
    memory = site.state / f"watch-{site.name}.json"
    site.if_interrupted = "nothing was changed; the next watch goes on from here"
    while True:
        try:
            outcome = _look(site, memory, textfile)
        except SpecrailError as error:
            if options.once:
                raise
            site.talk.warn(str(error))  # a host that is restarted comes back
        else:
            if options.once:
                return outcome
            for event in outcome.events:
                site.talk.headline(_line(site.name, event))
        wait(interval)


def _look(site: Site, memory: Path, textfile: Path | None) -> WatchOutcome:
    get_in(site)
    state = watching.from_json(memory.read_bytes() if memory.exists() else None)
    question = remote.question(site.layout.log, inode=state.inode, offset=state.offset)
    answer = site.shell.run(question, timeout_s=_READ_TIMEOUT_S).stdout
    part = remote.parse(answer, inode=state.inode, offset=state.offset)
    reader = LogReader()
    for number, line in enumerate(part.lines, start=1):
        reader.line(number, line)
    state, events, found = watching.look(state, reader.reading(), policy=site.host.gate, host=site.name)
    state = watching.at(state, part.inode, part.end)
    _keep(memory, watching.to_json(state))
    if textfile is not None:
        from roles.acceptance.textfile import write

        try:
            write(textfile, site.name, state, found, time.time())
        except OSError as error:
            raise UsageError(f"--textfile {textfile}: {error.strerror}") from error
    return WatchOutcome(state, events, found)


def _keep(path: Path, text: bytes) -> None:
    """Replace at once: a watch that is killed half-way leaves the old state."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    Path(name).replace(path)


def _line(host: str, event: Event) -> str:
    more = f"   next: {event.next}" if event.next else ""
    return f"{event.kind} · {host} · {event.id}: {event.text}{more}"
