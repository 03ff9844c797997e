"""Following a task on a Proxmox node: its log as it grows, its end, and what its exit status means."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from inventory.errors import BadParameter, ConnectionLost, DeadlineExceeded, TaskFailed, UnreachableError
from inventory.pve.errors import Answer, Asked, classify
from inventory.pve.upid import Upid
from inventory.shell import command

_POLL_S = 1.0
_PAGE_LINES = 500
_TAIL_LINES = 20
_APPEARS_WITHIN_S = 10.0  # right after the dispatch PVE may not know the task yet and answers 400
_PATIENCE_S = 120.0  # how long pveproxy may be restarting or a node be away before we stop watching


@dataclass(frozen=True)
class TaskResult:
    """How a task ended. log_tail has its last lines at most; warnings come from the log, in order."""

    ok: bool
    warnings: tuple[str, ...]
    log_tail: tuple[str, ...]


class Reader(Protocol):
    """What is needed of the API."""

    def get_map(self, path: str, /) -> dict[str, JsonValue]:
        """A GET that answers with an object."""

    def get_rows(self, path: str, /, *, start: int, limit: int) -> list[dict[str, JsonValue]]:
        """A GET that answers with a list of objects."""


class _Log:
    """The lines that were read, each handed on once."""

    def __init__(self, api: Reader, path: str, on_line: Callable[[str], None] | None) -> None:
        self._api, self._path, self._on_line = api, path, on_line
        self.lines: list[str] = []

    def read_on(self) -> None:
        """Read what is new."""
        while True:
            rows = self._api.get_rows(f"{self._path}/log", start=len(self.lines), limit=_PAGE_LINES)
            new = [str(row.get("t", "")) for row in rows if row.get("t") != "no content"]  # PVE's word for an empty log
            self.lines += new
            if self._on_line is not None:
                for line in new:
                    self._on_line(line)
            if len(new) < _PAGE_LINES:
                return


def wait(
    api: Reader,
    upid: Upid,
    on_line: Callable[[str], None] | None,
    timeout_s: float,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> TaskResult:
    """Wait for the end of a task.

    Raises TaskFailed for every end but OK and WARNINGS, DeadlineExceeded after timeout_s (the task runs on), and
    ConnectionLost when the node cannot be asked for two minutes.
    """
    path = f"/nodes/{upid.node}/tasks/{upid}"
    log = _Log(api, path, on_line)
    began = seen = clock()
    while True:
        try:
            status = api.get_map(f"{path}/status")
            stopped = status.get("status") == "stopped"
            log.read_on()
            if stopped:
                return _ended(str(status.get("exitstatus", "unexpected status")), log.lines, upid)
            seen = clock()
        except BadParameter:
            if clock() - began > _APPEARS_WITHIN_S:
                raise
        except UnreachableError as error:
            if clock() - seen > _PATIENCE_S:
                raise _out_of_sight(upid, error) from error
        if clock() - began > timeout_s:
            raise _too_slow(upid, timeout_s, log.lines)
        sleep(_POLL_S)


def _ended(exitstatus: str, lines: list[str], upid: Upid) -> TaskResult:
    tail = tuple(lines[-_TAIL_LINES:])
    if exitstatus == "OK":
        return TaskResult(True, (), tail)
    if (match := re.fullmatch(r"WARNINGS: (\d+)", exitstatus)) is not None:
        warnings = tuple(line for line in lines if re.match(r"WARN(?:ING)?:", line))
        return TaskResult(True, warnings or (f"{match[1]} warnings, see the task's log",), tail)
    cause = classify(Answer(None, exitstatus), _asked(upid))
    raise TaskFailed(
        cause.what,
        where=cause.where,
        why=[*cause.why, *(f"log: {line}" for line in _telling(lines, exitstatus))],
        tries=cause.tries,
        log=_log_command(upid),
    ) from cause


def _telling(lines: list[str], exitstatus: str) -> list[str]:
    """The end of a log without its last line, which only repeats the exit status."""
    return [line for line in lines[-10:] if line.strip() and exitstatus not in " ".join(line.split())]


def _asked(upid: Upid) -> Asked:
    return Asked(upid.node, upid.user, f"task {upid.type}", int(upid.id) if upid.id.isdigit() else None)


def _log_command(upid: Upid) -> str:
    return command("pvenode", "task", "log", str(upid)) + f"  # as root on {upid.node}"


def _too_slow(upid: Upid, timeout_s: float, lines: list[str]) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"the task has not ended after {timeout_s:g} s",
        where=(upid.node, f"task {upid.type}"),
        why=["It runs on; the same command later finds what it has done.", *(f"log: {line}" for line in lines[-3:])],
        tries=[command("pvesh", "delete", f"/nodes/{upid.node}/tasks/{upid}") + "  # to stop it"],
        log=_log_command(upid),
    )


def _out_of_sight(upid: Upid, error: UnreachableError) -> ConnectionLost:
    return ConnectionLost(
        f"the task is out of sight: {error.what}",
        where=(upid.node, f"task {upid.type}"),
        why=["It may run on; the same command later finds what it has done.", *error.why],
        tries=error.tries,
        log=_log_command(upid),
    )
