"""What a shell on another machine can do, and the one place where words are quoted for it."""

import shlex
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


def command(*argv: str) -> str:
    """One command line that a POSIX shell reads back as exactly `argv`. The only place that quotes.

    Raises ValueError for a NUL byte, which no argv can carry.
    """
    if any("\0" in word for word in argv):
        raise ValueError("a NUL byte cannot be part of a command")
    return shlex.join(argv)


@dataclass(frozen=True)
class Result:
    """What a command left behind. stdout and stderr are UTF-8 with replacement characters, secrets redacted."""

    exit_status: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether the status was 0."""
        return self.exit_status == 0


class Shell(Protocol):
    """A way to run things on one machine. All of them end: each call has a deadline.

    Errors: UnreachableError before a command starts, ConnectionLost while it runs, DeadlineExceeded after timeout_s,
    CommandError for a status that is not 0 when `check` is true.
    """

    @property
    def name(self) -> str:
        """How messages call this machine: "ct129", "pve1"."""

    def run(
        self,
        script: str,
        *,
        timeout_s: float = 60,
        stdin: bytes | None = None,
        check: bool = True,
        on_line: Callable[[str], None] | None = None,
    ) -> Result:
        """Run `script` with /bin/sh, as one exec request. on_line gets each line of stdout as it comes."""

    def write(self, path: str, content: bytes, *, mode: int = 0o600) -> None:
        """Replace `path` atomically: temporary file beside it, fsync, rename. Never passes content as an argument."""

    def read(self, path: str, *, limit_bytes: int = 1_048_576) -> bytes | None:
        """The first limit_bytes of a file; None if there is none."""

    def put(self, local: Path, path: str, *, mode: int = 0o755) -> None:
        """Send a local file of any size; appears whole or not at all."""

    def close(self) -> None:
        """Hang up. A closed shell dials again at its next use."""


class HostShell(Shell, Protocol):
    """A Shell on the machine where an engine is served."""

    def forward(self, port: int) -> AbstractContextManager[int]:
        """A local port that leads to 127.0.0.1:port on the machine, while the context lasts."""
