"""The processes of a lab: found by a mark in their environment, because no container holds them together."""

import asyncio
import contextlib
import ctypes
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LAB = "SPECRAIL_LAB"
"""Environment variable: the lab's folder."""
CONTAINER = "SPECRAIL_LAB_CT"
"""Environment variable: the container's number; absent on the node."""

_PR_SET_CHILD_SUBREAPER = 36
_KILL_S = 10.0


@dataclass(frozen=True)
class Process:
    """One live process of a lab. ctid is None for the node's; argv is empty for a kernel's or an ending one."""

    pid: int
    ctid: int | None
    argv: tuple[str, ...]


def of_lab(folder: Path, ctid: int | None = None) -> list[Process]:
    """The lab's live processes, of one container or of all its machines.

    Who dropped the mark (`env -i`) is found through its parent, as long as that lives.
    """
    parents: dict[int, int] = {}
    marks: dict[int, int | None] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        pid = int(entry.name)
        try:
            parent = _parent(entry)
            environment = (entry / "environ").read_bytes()
        except OSError:  # it ended, or it is somebody else's
            continue
        if parent is not None:
            parents[pid] = parent
            if f"{LAB}={folder}".encode() in (variables := environment.split(b"\0")):
                prefix = f"{CONTAINER}=".encode()
                marks[pid] = next((int(word[len(prefix) :]) for word in variables if word.startswith(prefix)), None)
    for pid in parents:
        if (ancestor := _marked_ancestor(pid, parents, marks)) is not None:
            marks[pid] = marks[ancestor]
    return [
        Process(pid, mark, _argv(pid))
        for pid, mark in sorted(marks.items())
        if pid != os.getpid() and (ctid is None or mark == ctid)
    ]


async def end(folder: Path, ctid: int | None = None, *, grace_s: float = 0) -> None:
    """End every process of the lab or of one container; with grace_s they are asked first. Raises TimeoutError."""
    loop = asyncio.get_running_loop()
    if grace_s and (found := of_lab(folder, ctid)):
        _send(found, signal.SIGTERM)
        deadline = loop.time() + grace_s
        while of_lab(folder, ctid) and loop.time() < deadline:
            await asyncio.sleep(0.02)
    async with asyncio.timeout(_KILL_S):
        while kill(folder, ctid):
            await asyncio.sleep(0.005)


def kill(folder: Path, ctid: int | None = None) -> int:
    """Kill what there is now, and say how many there were. They may have forked meanwhile: repeat until there are none."""
    found = of_lab(folder, ctid)
    _send(found, signal.SIGKILL)
    return len(found)


def ignores(pid: int, number: signal.Signals) -> bool:
    """Whether a process ignores a signal; False for one that has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    mask = next((line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:")), "0")
    return bool(int(mask, 16) >> (number - 1) & 1)


class Reaper:
    """Makes this process the parent of daemons that the lab's commands leave behind, and buries them when they end.

    A machine's pid 1 does it on a real host; in a bare container nobody does, and a dead server would look alive.
    own: pids that somebody here waits for, which are left to them.
    """

    def __init__(self) -> None:
        self.own: set[int] = set()
        self._resting = 0

    @contextlib.contextmanager
    def resting(self) -> Iterator[None]:
        """Bury nobody meanwhile: somebody starts children and waits for them before their pids can be in `own`."""
        self._resting += 1
        try:
            yield
        finally:
            self._resting -= 1
            self.reap()

    def adopt(self) -> None:
        """Become the parent of orphans (Linux)."""
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def reap(self) -> None:
        """Bury every orphan that has ended."""
        if self._resting:
            return
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):
                for pid in map(int, (task / "children").read_text().split()):
                    if pid not in self.own:
                        with contextlib.suppress(ChildProcessError):
                            os.waitpid(pid, os.WNOHANG)


def _send(processes: list[Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)


def _parent(entry: Path) -> int | None:
    """The parent's pid; None for a zombie, which is nobody's process any more."""
    state, parent, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
    return None if state in "ZX" else int(parent)


def _marked_ancestor(pid: int, parents: dict[int, int], marks: dict[int, int | None]) -> int | None:
    seen = pid
    while seen in parents:
        if seen in marks:
            return seen
        seen = parents[seen]
    return None


def _argv(pid: int) -> tuple[str, ...]:
    try:
        return tuple(Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1])
    except OSError:
        return ()
