"""invoke watch: follow servers' acceptance, each host by itself, and say each event once."""

import contextlib
import json
import os
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console

from inventory.errors import ConnectionLost, ExitCode, SpecrailError, UsageError
from inventory.resolve import ResolvedHost
from playbooks.cli import CHECKOUT, INTERRUPTED, open_inventory, plain_console, print_json, report
from playbooks.flags import whole_number
from playbooks.reach import get_in
from playbooks.site import Site
from roles.acceptance import remote, watching
from roles.acceptance.judgement import Judgement
from roles.acceptance.judgement_text import as_text
from roles.acceptance.loglines import LogReader
from roles.acceptance.watching import Event, State

_READ_TIMEOUT_S = 300
_INTERVAL_S = 30
_GOODBYE_S = 1.0
_CODES = {"pass": ExitCode.DONE, "fail": ExitCode.FAILED, "inconclusive": ExitCode.INCONCLUSIVE}
_WORST_FIRST = (ExitCode.FAILED, ExitCode.UNREACHABLE, ExitCode.INCONCLUSIVE)
_LEFT = "nothing was changed; the next watch goes on from here"


@dataclass(frozen=True)
class Options:
    """Flags. interval is in seconds."""

    once: bool = False
    interval: str | None = None
    textfile: str | None = None


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
        if self.state.alarm is not None:
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
        length = self.judgement.summary.length if self.judgement else None
        return f"acceptance length {length:.2f}" if length is not None else "nothing was counted yet"

    def lines(self) -> list[str]:
        """Silence when nothing happened, so that cron sends no mail."""
        if self.events:
            return [_line(self.host, event) for event in self.events]
        unknown = self.judgement if self.exit_code is ExitCode.INCONCLUSIVE else None
        return [as_text(unknown)] if unknown else []


def run(hosts: Sequence[str], inventory: str | None, options: Options, *, as_json: bool) -> int:
    """Look at each host once, or follow all of them until Ctrl-C. Returns the exit code: the worst of the hosts'.

    Where each was is kept on the controller. Followed events go to stdout as they come, with as_json one object a line.
    """
    err = plain_console(sys.stderr)
    try:
        textfile = Path(options.textfile) if options.textfile else None
        if textfile is not None and not textfile.parent.is_dir():
            raise UsageError(f"--textfile: there is no folder {textfile.parent}")
        interval_s = whole_number("interval", options.interval) or _INTERVAL_S
        selected = open_inventory(inventory, err).select(hosts)
        if options.once:
            return _once(selected, textfile, as_json=as_json, err=err)
        _follow(selected, interval_s, textfile, as_json=as_json, err=err)
    except SpecrailError as error:
        return report(error, err, as_json=as_json, verb="watch")
    except KeyboardInterrupt:
        err.print(f"watch: interrupted; {_LEFT}", markup=False, highlight=False)
    return INTERRUPTED


def _once(selected: Sequence[ResolvedHost], textfile: Path | None, *, as_json: bool, err: Console) -> int:
    found: dict[str, Look] = {}
    with _looks(selected, None, err) as following:
        while len(found) < len(selected):
            look = following()
            found[look.host] = look
    looks = [found[resolved.name] for resolved in selected]
    _write(textfile, found)
    codes = {look.exit_code for look in looks}
    code = next((worst for worst in _WORST_FIRST if worst in codes), max(codes))
    if as_json:
        print_json({"verb": "watch", "exit_code": int(code), "hosts": [look.as_json() for look in looks]})
    else:
        sys.stdout.writelines(f"{line}\n" for look in looks for line in look.lines())
    return int(code)


def _follow(
    selected: Sequence[ResolvedHost], interval_s: float, textfile: Path | None, *, as_json: bool, err: Console
) -> None:
    names = ", ".join(resolved.name for resolved in selected)
    err.print(f"watch: {names}, every {interval_s:g} s, until Ctrl-C", markup=False, highlight=False)
    found: dict[str, Look] = {}
    complaint = None
    with _looks(selected, interval_s, err) as following:
        while True:
            look = following()
            if look.host not in found and not look.events:
                err.print(f"  {look.host}: {look.standing()}", markup=False, highlight=False, soft_wrap=True)
            found[look.host] = look
            for event in look.events:
                at = datetime.now().astimezone()
                told = {"at": at.isoformat(timespec="seconds"), "host": look.host, **asdict(event)}
                line = json.dumps(told) if as_json else f"{at:%Y-%m-%d %H:%M:%S} {_line(look.host, event)}"
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
            try:
                _write(textfile, found)
            except UsageError as error:  # a full disk must not end a watch
                if complaint != error.what:
                    err.print(f"warning: {error.what}", markup=False, highlight=False)
                complaint = error.what


@contextlib.contextmanager
def _looks(selected: Sequence[ResolvedHost], interval_s: float | None, err: Console) -> Iterator[Callable[[], Look]]:
    """What comes of looking at all hosts at the same time, each once or again and again; call it for the next one.

    A thread a host: one that hangs keeps no other one waiting, also not at the end, which it does not outlive.
    """
    coming: queue.SimpleQueue[Look | None] = queue.SimpleQueue()
    over = threading.Event()

    def keep_looking(resolved: ResolvedHost) -> None:
        try:
            with Site(resolved, verb="watch", checkout=CHECKOUT, talk_to=err) as site:
                while not over.is_set():
                    coming.put(look_at(site))
                    if interval_s is None or over.wait(interval_s):
                        return
        except BaseException:
            coming.put(None)  # a defect: nobody is to wait for it
            raise

    def following() -> Look:
        if (look := coming.get()) is None:
            raise RuntimeError("a host's watch ended by itself")
        return look

    threads = [threading.Thread(target=keep_looking, args=(resolved,), daemon=True) for resolved in selected]
    for thread in threads:
        thread.start()
    try:
        yield following
    finally:
        over.set()
        for thread in threads:
            thread.join(_GOODBYE_S / len(threads))


def look_at(site: Site) -> Look:
    """Read what the host's log says since the last look. Nothing that is wrong with the host is raised."""
    memory = site.state / f"watch-{site.name}.json"
    state = watching.from_json(memory.read_bytes() if memory.exists() else None)
    question = remote.question(site.layout.log, inode=state.inode, offset=state.offset)
    try:
        try:
            answer = _ask(site, question)
        except ConnectionLost:  # an idle line that something between has forgotten: a new one tells what is so
            answer = _ask(site, question)
    except SpecrailError as error:
        site.redactor.error(error.at(f"watch {site.name}"))
        state, events = watching.away(state, error, site.name)
        _keep(memory, watching.to_json(state))
        return Look(site.name, state, events, error=error)
    part = remote.parse(answer, inode=state.inode, offset=state.offset)
    reader = LogReader()
    for number, line in enumerate(part.lines, start=1):
        reader.line(number, line)
    state, events, found = watching.look(state, reader.reading(), policy=site.host.gate, host=site.name)
    state = watching.at(state, part.inode, part.end)
    _keep(memory, watching.to_json(state))
    return Look(site.name, state, events, judgement=found)


def _ask(site: Site, question: str) -> str:
    get_in(site)
    return site.shell.run(question, timeout_s=_READ_TIMEOUT_S).stdout


def _write(textfile: Path | None, found: Mapping[str, Look]) -> None:
    """All hosts' metrics in one file. Raises UsageError for a file that cannot be written."""
    if textfile is None:
        return
    from roles.acceptance.textfile import write

    try:
        write(textfile, {host: (found[host].state, found[host].judgement) for host in sorted(found)}, time.time())
    except OSError as error:
        raise UsageError(f"--textfile {textfile}: {error.strerror}") from error


def _keep(path: Path, text: bytes) -> None:
    """Replace at once: a watch that is killed half-way leaves the old state."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    Path(name).replace(path)


def _line(host: str, event: Event) -> str:
    more = f"   next: {event.next}" if event.next else ""
    return f"{event.kind} · {host} · {event.id}: {event.text}{more}"
