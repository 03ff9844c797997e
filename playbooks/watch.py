"""invoke watch: follow servers' acceptance, each host by itself, and say each event once."""

import contextlib
import json
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console

from inventory.errors import ExitCode, SpecrailError, UsageError
from inventory.resolve import ResolvedHost
from playbooks.cli import CHECKOUT, open_inventory, plain_console, print_json, report
from playbooks.endings import exit_code
from playbooks.flags import whole_number
from playbooks.site import Site
from playbooks.watch_look import Look, line_of, look_at

_INTERVAL_S = 30
_GOODBYE_S = 1.0
_WORST_FIRST = (ExitCode.FAILED, ExitCode.UNREACHABLE, ExitCode.INCONCLUSIVE)
_LEFT = "nothing was changed; the next watch goes on from here"


@dataclass(frozen=True)
class Options:
    """Flags. interval is in seconds."""

    once: bool = False
    interval: str | None = None
    textfile: str | None = None


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
    return exit_code()


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
                line = json.dumps(told) if as_json else f"{at:%Y-%m-%d %H:%M:%S} {line_of(look.host, event)}"
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
    coming: queue.SimpleQueue[Look | SpecrailError | None] = queue.SimpleQueue()
    over = threading.Event()

    def keep_looking(resolved: ResolvedHost) -> None:
        try:
            with Site(resolved, verb="watch", checkout=CHECKOUT, talk_to=err) as site:
                while not over.is_set():
                    coming.put(look_at(site))
                    if interval_s is None or over.wait(interval_s):
                        return
        except SpecrailError as error:
            coming.put(error)
        except BaseException:
            coming.put(None)  # a defect: nobody is to wait for it
            raise

    def following() -> Look:
        look = coming.get()
        if look is None:
            raise RuntimeError("a host's watch ended by itself")
        if isinstance(look, SpecrailError):
            raise look
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


def _write(textfile: Path | None, found: Mapping[str, Look]) -> None:
    """All hosts' metrics in one file. Raises UsageError for a file that cannot be written."""
    if textfile is None:
        return
    from roles.acceptance.textfile import write

    try:
        write(textfile, {host: (found[host].state, found[host].judgement) for host in sorted(found)}, time.time())
    except OSError as error:
        raise UsageError(f"--textfile {textfile}: {error.strerror}") from error
