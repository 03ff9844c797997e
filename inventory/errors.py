"""Every error that a user can meet, as one small tree; each says what happened, where, why it matters and what to do.

SpecrailError                  exit 1
├── UsageError                 exit 2   a flag or a host name that means nothing
├── InventoryError             exit 2   all that is wrong with the inventory, at once, with file and line
├── PreflightError             exit 1   a host or node is not as it must be; nothing was changed
│   └── DrafterRefused         exit 1   the static check found errors in the drafter's config
├── UnreachableError           exit 6   the API or sshd does not answer, or not as the one that is expected
│   ├── HostKeyError           exit 6   the host key is not the known one, or none is known
│   └── ConnectionLost         exit 6   the line broke while a command ran: its outcome is unknown
├── ProxmoxError               exit 1   the node's answer, classified by status *and* text
│   ├── AuthenticationFailed, PermissionDenied, NotFound, AlreadyExists, GuestLocked,
│   ├── ConfigChanged, NoQuorum, BadParameter
│   └── TaskFailed                      a task that was started ended badly; carries the end of its log
├── CommandError               exit 1   a remote command ended with a status that is not 0
├── DeadlineExceeded           exit 1   something took longer than it may
├── EngineError                exit 1   the engine could not be resolved, built or imported
├── ServerError                exit 1   the server died, never became healthy, or does not answer
├── LockedError                exit 5   somebody else's operation holds the host
├── GateFailed                 exit 3   acceptance failed; what is in service again is in the message
└── GateInconclusive           exit 4   no verdict; the policy decided what is in service
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells its caller."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    GATE_FAILED = 3
    INCONCLUSIVE = 4
    LOCKED = 5
    UNREACHABLE = 6


class SpecrailError(Exception):
    """One thing that went wrong, in the words of the person who has to mend it.

    what:  one line, no full stop: what happened, with the value that was met
    where: who and which step, outermost first: ("deploy ct129", "engine"); callers add to the front with `at`
    why:   lines that explain; the reader is tired
    tries: commands or settings that help, most likely first; can be pasted
    log:   the command that shows more
    """

    exit_code = ExitCode.FAILED
    together = False
    """Whether `tries` belong together (each mends something else) instead of being alternatives."""

    def __init__(
        self,
        what: str,
        *,
        where: Sequence[str] = (),
        why: Sequence[str] = (),
        tries: Sequence[str] = (),
        log: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = tuple(where)
        self.why = tuple(why)
        self.tries = tuple(tries)
        self.log = log

    def at(self, *where: str) -> "SpecrailError":
        """Say where it happened: `where` goes in front of what is known already. Returns self, to be raised."""
        self.where = (*where, *self.where)
        return self

    def __str__(self) -> str:
        lines = [f"{' · '.join(self.where)}: {self.what}" if self.where else self.what]
        lines += [f"  {line}" for line in self.why]
        first, next_ = ("Do:  ", "and: ") if self.together else ("Try: ", " or: ")
        lines += [f"  {next_ if i else first} {line}" for i, line in enumerate(self.tries)]
        if self.log:
            lines.append(f"  Log:  {self.log}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        """The same facts for programs."""
        return {
            "error": type(self).__name__,
            "exit_code": int(self.exit_code),
            "where": list(self.where),
            "what": self.what,
            "why": list(self.why),
            "tries": list(self.tries),
            "log": self.log,
        }


class UsageError(SpecrailError):
    """A flag, a name or a combination that means nothing."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in an inventory file.

    line is 1-based; key is the dotted path of what was read ("hosts.ct129.engine.sorce").
    """

    file: str
    line: int | None
    key: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.key}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class InventoryError(SpecrailError):
    """All that is wrong with an inventory. `problems` is never empty."""

    exit_code = ExitCode.USAGE

    def __init__(self, problems: Sequence[Problem], *, tries: Sequence[str] = ()) -> None:
        count = len(problems)
        super().__init__(
            f"{count} {'thing is' if count == 1 else 'things are'} wrong in the inventory",
            why=[str(problem) for problem in problems],
            tries=tries,
        )
        self.problems = tuple(problems)


class PreflightError(SpecrailError):
    """A node or host is not as it must be. Nothing has been changed."""


class DrafterRefused(PreflightError):
    """The static check found errors in the drafter's configuration."""

    together = True


class UnreachableError(SpecrailError):
    """Nothing answers, or something that is not what is expected."""

    exit_code = ExitCode.UNREACHABLE


class HostKeyError(UnreachableError):
    """The ssh host key is not the known one, or none is known."""


class ConnectionLost(UnreachableError):
    """The line broke while a command was running: whether it ran to its end is not known."""


class ProxmoxError(SpecrailError):
    """What a Proxmox node answered. status is the HTTP status (None for a failed task)."""

    def __init__(
        self,
        what: str,
        *,
        status: int | None = None,
        where: Sequence[str] = (),
        why: Sequence[str] = (),
        tries: Sequence[str] = (),
        log: str | None = None,
    ) -> None:
        super().__init__(what, where=where, why=why, tries=tries, log=log)
        self.status = status


class AuthenticationFailed(ProxmoxError):
    """The node does not know this user, token or password."""


class PermissionDenied(ProxmoxError):
    """The user or token may not do this."""


class NotFound(ProxmoxError):
    """No such guest, volume, storage or node."""


class AlreadyExists(ProxmoxError):
    """The id or name is taken."""


class GuestLocked(ProxmoxError):
    """The guest is locked by another task (backup, snapshot, migration ...)."""


class ConfigChanged(ProxmoxError):
    """The guest's config changed since it was read (digest mismatch)."""


class NoQuorum(ProxmoxError):
    """The cluster has no quorum: nothing can be written."""


class BadParameter(ProxmoxError):
    """The node refuses a parameter (400)."""


class TaskFailed(ProxmoxError):
    """A task on the node ended with something else than OK."""


class CommandError(SpecrailError):
    """A command on a host ended with a status that is not 0."""

    def __init__(
        self,
        what: str,
        *,
        exit_status: int,
        where: Sequence[str] = (),
        why: Sequence[str] = (),
        tries: Sequence[str] = (),
        log: str | None = None,
    ) -> None:
        super().__init__(what, where=where, why=why, tries=tries, log=log)
        self.exit_status = exit_status


class DeadlineExceeded(SpecrailError):
    """Something took longer than it may."""


class EngineError(SpecrailError):
    """The engine could not be resolved, built or imported."""


class ServerError(SpecrailError):
    """The server died, never became healthy, or does not answer requests."""


class LockedError(SpecrailError):
    """Somebody else's operation holds the host."""

    exit_code = ExitCode.LOCKED


class GateFailed(SpecrailError):
    """The acceptance gate said no."""

    exit_code = ExitCode.GATE_FAILED


class GateInconclusive(SpecrailError):
    """The acceptance gate could not decide."""

    exit_code = ExitCode.INCONCLUSIVE
