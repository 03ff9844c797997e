"""Long work that outlives the ssh line: started on the host, followed from here, found again after a broken line."""

import hashlib
import re
import secrets
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, TypeVar

from inventory.errors import (
    ConnectionLost,
    DeadlineExceeded,
    HostKeyError,
    LockedError,
    PreflightError,
    SpecrailError,
    UnreachableError,
)
from inventory.shell import Shell, command
from inventory.ssh.job_scripts import KILL, POLL, SEEN, START
from inventory.wait import wait_for

R = TypeVar("R")

PATIENCE_S = 300
"""How long the host may be out of reach before the job is left to itself."""

_POLL_ROUND_S = 0.2  # as in POLL
_POLL_ROUNDS = 20  # how long one poll waits on the host for something new
_POLL_TIMEOUT_S = 30
_POLL_BYTES = 256 * 1024
_TAIL_LINES = 50


@dataclass(frozen=True)
class JobResult:
    """How a job ended.

    exit_status: None when it died without one: it was killed, or the machine was restarted
    tail:        the last lines of its log, at most 50
    log:         where all of it is, on the host
    attached:    it was not started by this call, but found running or just ended
    """

    exit_status: int | None
    tail: tuple[str, ...]
    log: str
    attached: bool

    @property
    def ok(self) -> bool:
        """Whether the status was 0."""
        return self.exit_status == 0


def run_job(
    shell: Shell,
    name: str,
    script: str,
    folder: str,
    *,
    timeout_s: float,
    outcome: str | None = None,
    on_line: Callable[[str], None] | None = None,
    on_interrupt: Literal["kill", "leave"] = "leave",
    on_wait: Callable[[float], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> JobResult:
    """Run `script` (POSIX sh, no secrets in it) on the host and follow its log, whatever happens to the line.

    name:    names the files in `folder` (absolute; made if absent). One job of a name runs at a time.
    outcome: names what the job brings about; scripts with the same one are the same to us (default: the text)
    on_line: gets each line of the log once, also those from before an attaching call
    on_interrupt: what a Ctrl-C does to the job. "leave": it goes on, and the same call finds it again
    on_wait: told now and then for how many seconds the host has been out of reach, while it is

    A job with this name and the same outcome that still runs, or has ended within the last hour with nobody told, is
    followed instead of being started twice. Raises LockedError when one of another outcome runs under this name;
    DeadlineExceeded after timeout_s (all of the job's processes are killed then); ConnectionLost when the host stays
    out of reach (the job goes on); PreflightError when flock or setsid are missing. A status that is not 0 is a result.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or not folder.startswith("/"):
        raise ValueError(f"not a job's name and folder: {name!r}, {folder!r}")
    job = _Job(shell, name, folder, on_wait, clock, sleep)
    deadline = clock() + timeout_s
    try:
        job.start(script, outcome or script)
        return job.follow(on_line, deadline, timeout_s)
    except KeyboardInterrupt as interrupt:
        if on_interrupt == "kill":
            try:
                job.kill()
            except SpecrailError as error:
                interrupt.add_note(f"{name} may still run on {shell.name}: {error.what}")
        raise


class _Report(NamedTuple):
    """What a poll brings: how the job is doing, how far its log was sent, how long it is, and what is new in it."""

    state: str
    status: int | None
    offset: int
    size: int
    text: str


class _Job:
    """One job on one host, as this call sees it."""

    def __init__(
        self,
        shell: Shell,
        name: str,
        folder: str,
        on_wait: Callable[[float], None] | None,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._shell = shell
        self._name = name
        self._folder = folder
        self._on_wait = on_wait
        self._clock = clock
        self._sleep = sleep
        self._id = secrets.token_hex(8)
        self._attached = False
        self._log = f"{folder}/{name}.log"

    def start(self, script: str, outcome: str) -> None:
        """Start it, or attach to the one that is there. Repeating it is safe: a second start attaches to the first."""
        data = script.encode()
        digest = hashlib.sha256(outcome.encode()).hexdigest()
        begin = partial(self._run, START, digest, self._id, str(len(data)), stdin=data)
        try:
            answer = begin()
        except (ConnectionLost, DeadlineExceeded):  # it may have been started
            answer = self._patiently(begin)
        state, *rest = answer.split()
        if state == "missing":
            raise PreflightError(
                f"{rest[0]} is missing", where=[self._shell.name], tries=["apt-get install -y util-linux"]
            )
        found_digest, found_id, pid = rest
        if state == "running" and found_digest != digest:
            raise LockedError(
                f"another {self._name} is running (process {pid})",
                where=[self._shell.name],
                why=["It was started with other settings, from here or from another machine."],
                tries=["wait for it, and try again", f"{command('kill', '-TERM', f'-{pid}')}   (on the host: ends it)"],
                log=command("tail", "-f", self._log),
            )
        self._attached = found_id != self._id
        self._id = found_id

    def follow(self, on_line: Callable[[str], None] | None, deadline: float, timeout_s: float) -> JobResult:
        """Hand on the log until the job has ended."""
        tail: deque[str] = deque(maxlen=_TAIL_LINES)
        offset = 0
        while True:
            state, status, offset, size, text = self._patiently(partial(self._poll, offset, deadline))
            for line in text.removesuffix("\n").split("\n") if text else ():
                tail.append(line.removesuffix("\r"))
                if on_line:
                    on_line(tail[-1])
            if state == "replaced":
                raise LockedError(
                    f"{self._name} was started anew by somebody else while the host was out of reach",
                    where=[self._shell.name],
                    log=command("tail", "-f", self._log),
                )
            if state != "running" and offset >= size:
                with suppress(SpecrailError):  # it would only be told once more
                    self._run(SEEN, self._id)
                return JobResult(status, tuple(tail), self._log, self._attached)
            if self._clock() >= deadline:
                self.kill()
                raise DeadlineExceeded(
                    f"{self._name} did not end within {timeout_s:g} s and was killed",
                    where=[self._shell.name],
                    why=list(tail)[-5:],
                    log=command("tail", "-n", "100", self._log),
                )

    def kill(self) -> None:
        """End all of its processes."""
        self._run(KILL, self._id)

    def _poll(self, offset: int, deadline: float) -> _Report:
        rounds = max(0, min(_POLL_ROUNDS, int((deadline - self._clock()) / _POLL_ROUND_S)))
        answer = self._run(POLL, self._id, str(offset), str(_POLL_BYTES), str(rounds))
        head, _, text = answer.partition("\n")
        state, status, reached, size = head.split()
        return _Report(state, None if status == "-" else int(status), int(reached), int(size), text)

    def _run(self, script: str, *args: str, stdin: bytes | None = None) -> str:
        line = command("set", "--", self._folder, self._name, *args)
        return self._shell.run(f"{line}\n{script}", timeout_s=_POLL_TIMEOUT_S, stdin=stdin).stdout

    def _patiently(self, act: Callable[[], R]) -> R:
        """Do it again and again while the host is out of reach. `act` must be safe to repeat."""
        last: SpecrailError | None = None

        def probe() -> R | None:
            nonlocal last
            try:
                return act()
            except HostKeyError:
                raise
            except (UnreachableError, DeadlineExceeded) as error:
                last = error
                return None

        began = self._clock()
        try:
            return wait_for(
                probe,
                what=f"{self._shell.name} to answer",
                timeout_s=PATIENCE_S,
                interval_s=1,
                max_interval_s=10,
                on_wait=self._on_wait,
                clock=self._clock,
                sleep=self._sleep,
            )
        except DeadlineExceeded:
            raise ConnectionLost(
                f"out of reach since {self._clock() - began:.0f} s, while {self._name} was running",
                where=[self._shell.name],
                why=[f"If it was started, {self._name} goes on there.", *([last.what] if last else [])],
                tries=["the same command again: it finds the job and follows it"],
                log=f"{command('tail', '-f', self._log)}   (on the host)",
            ) from last
