"""One look at one host's acceptance: what its log says since the last look, and whether its server answers."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from inventory.errors import ConnectionLost, ExitCode, ServerError, SpecrailError, UsageError
from playbooks.reach import get_in
from playbooks.site import Site
from roles.acceptance import remote, watching
from roles.acceptance.judgement import Judgement
from roles.acceptance.judgement_text import as_text
from roles.acceptance.loglines import LogReader
from roles.acceptance.watching import Event, State
from roles.load.client import get
from roles.server.health import probe

_READ_TIMEOUT_S = 300
_CODES = {"pass": ExitCode.DONE, "fail": ExitCode.FAILED, "inconclusive": ExitCode.INCONCLUSIVE}


@dataclass(frozen=True)
class Look:
    """One look at one host. judgement is None where it could not be read, error says why."""

    host: str
    state: State
    events: tuple[Event, ...]
    judgement: Judgement | None = None
    error: SpecrailError | None = None

    @property
    def exit_code(self) -> ExitCode:
        """1 while an alarm goes on, 6 (or what the error says) when it cannot be read, 4 when nothing can be said."""
        if self.state.alarm is not None or (self.state.down and not self.state.away):
            return ExitCode.FAILED
        if self.judgement is None:
            return self.error.exit_code if self.error else ExitCode.UNREACHABLE
        return _CODES[self.judgement.outcome]

    def as_json(self) -> dict[str, object]:
        """All of it."""
        found = self.judgement.as_json() if self.judgement else {}
        why = self.error.as_json() if self.error else {}
        watched = watching.as_json(self.state, self.events)
        return {"host": self.host, **found, **why, **watched, "exit_code": int(self.exit_code)}

    def standing(self) -> str:
        """How it is when a watch begins and nothing has happened since the last one."""
        if self.error is not None:
            return f"cannot be read: {self.error.what}"
        if self.state.alarm is not None:
            return f"the alarm {self.state.alarm} goes on"
        if self.state.down:
            return "the server does not answer"
        length = self.judgement.summary.length if self.judgement else None
        return f"acceptance length {length:.2f}" if length is not None else "nothing was counted yet"

    def lines(self) -> list[str]:
        """Silence when nothing happened, so that cron sends no mail."""
        if self.events:
            return [line_of(self.host, event) for event in self.events]
        unknown = self.judgement if self.exit_code is ExitCode.INCONCLUSIVE else None
        return [as_text(unknown)] if unknown else []


def look_at(site: Site) -> Look:
    """Read what the host's log says since the last look, and ask its server.

    Nothing that is wrong with the host is raised; UsageError when the controller cannot keep where it was.
    """
    memory = site.state / f"watch-{site.name}.json"
    try:
        state = watching.from_json(memory.read_bytes() if memory.exists() else None)
        look = _look(site, state)
        _keep(memory, watching.to_json(look.state))
    except OSError as error:
        raise UsageError(f"{memory}: {error.strerror}", why=["A watch keeps there where it was."]) from error
    return look


def _look(site: Site, state: State) -> Look:
    question = remote.question(site.layout.log, inode=state.inode, offset=state.offset)
    try:
        try:
            answer = _ask(site, question)
        except ConnectionLost:  # an idle line that something between has forgotten: a new one tells what is so
            answer = _ask(site, question)
        part = remote.parse(answer, inode=state.inode, offset=state.offset)
        if part.inode is None:
            raise ServerError(f"there is no log: {site.layout.log}", tries=[f"invoke status --host {site.name}"])
        why_not = _why_it_does_not_answer(site)
    except SpecrailError as error:
        site.redactor.error(error.at(f"watch {site.name}"))
        state, events = watching.away(state, error, site.name)
        return Look(site.name, state, events, error=error)
    reader = LogReader()
    for number, line in enumerate(part.lines, start=1):
        reader.line(number, line)
    quiet = (state.inode, state.offset) == (part.inode, part.end)
    state, events, found = watching.look(state, reader.reading(), policy=site.host.gate, host=site.name)
    state, more = watching.answers(state, why_not, quiet=quiet, host=site.name)
    return Look(site.name, watching.at(state, part.inode, part.end), (*events, *more), judgement=found)


def _why_it_does_not_answer(site: Site) -> str | None:
    with site.endpoint() as endpoint:
        now = probe(lambda path: get(endpoint, path))
    return None if now.alive else now.detail or "no answer"


def _ask(site: Site, question: str) -> str:
    get_in(site)
    return site.shell.run(question, timeout_s=_READ_TIMEOUT_S).stdout


def line_of(host: str, event: Event) -> str:
    """An event as one line."""
    more = f"   next: {event.next}" if event.next else ""
    return f"{event.kind} · {host} · {event.id}: {event.text}{more}"


def _keep(path: Path, text: bytes) -> None:
    """Replace at once: a watch that is killed half-way leaves the old state."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    Path(name).replace(path)
