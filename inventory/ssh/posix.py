"""What each way to a machine does alike: run, read and write files, all through one primitive, `execute`."""

import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from inventory.errors import CommandError, UsageError
from inventory.secrets import Redactor
from inventory.shell import Result, command
from inventory.ssh.streams import Lines

OUTPUT_LIMIT_BYTES = 8 * 1024 * 1024
"""Of each stream, the end of so much is kept."""

EXEC_LIMIT_BYTES = 60_000
"""A longer command line goes by stdin: Linux takes 128 KiB as one argument, some sshds less as one packet."""

_ABSENT = 44  # our own exit status for "no such file": the tools' messages are not parsed

_WRITE = """
set -eu
umask 077
path=$1 size=$2 mode=$3
if [ -d "$path" ]; then echo "$path is a folder" >&2; exit 1; fi
new=$(mktemp "${path%/*}/.specrail.XXXXXXXXXX")
trap 'rm -f "$new"' EXIT
trap 'exit 1' HUP INT PIPE TERM
cat > "$new"
came=$(wc -c < "$new")
if [ "$came" -ne "$size" ]; then echo "$came of $size bytes came: $path is left as it was" >&2; exit 1; fi
chmod "$mode" "$new"
sync "$new"
mv -f "$new" "$path"
sync "${path%/*}/" 2> /dev/null || :  # not every file system lets a folder be synced
"""

_READ = f"""
[ -e "$1" ] || exit {_ABSENT}
exec head -c "$2" "$1"
"""

Stdin = Sequence[bytes | BinaryIO]
"""Parts that are sent one after the other; streams are read to their end and not closed."""


@dataclass(frozen=True)
class Output:
    """What a command left behind, as it came. The cut_bytes at the beginning of a stream were not kept."""

    exit_status: int
    stdout: bytes
    stderr: bytes
    stdout_cut_bytes: int = 0
    stderr_cut_bytes: int = 0


class PosixShell(ABC):
    """A Shell (inventory.shell) over `execute`. redact is applied to all text, never to files that are read."""

    redact: Redactor

    @property
    @abstractmethod
    def name(self) -> str:
        """How messages call this machine."""

    @abstractmethod
    def execute(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: Stdin = (),
        on_stdout: Callable[[bytes], None] | None = None,
        limit_bytes: int = OUTPUT_LIMIT_BYTES,
    ) -> Output:
        """Run `script` with /bin/sh as one exec request; raises like Shell.run, but never CommandError.

        on_stdout gets each piece of stdout as it comes. The locale is C.UTF-8: messages can be read by programs.
        The script has ended for us when its outputs are closed: what it leaves behind must not hold them.
        """

    @abstractmethod
    def close(self) -> None:
        """Hang up. A closed shell dials again at its next use."""

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
        lines = Lines(on_line, self.redact) if on_line else None
        output = self.execute(
            script,
            timeout_s=timeout_s,
            stdin=() if stdin is None else (stdin,),
            on_stdout=lines.add if lines else None,
            limit_bytes=OUTPUT_LIMIT_BYTES + self.redact.longest,
        )
        if lines:
            lines.end()
        result = Result(
            output.exit_status,
            self._text(output.stdout, output.stdout_cut_bytes),
            self._text(output.stderr, output.stderr_cut_bytes),
        )
        if check and not result.ok:
            raise self._failed(script, result)
        return result

    def write(self, path: str, content: bytes, *, mode: int = 0o600) -> None:
        """Replace `path` atomically: temporary file beside it, fsync, rename. Its folder must be there."""
        self._send(content, len(content), path, mode)

    def put(self, local: Path, path: str, *, mode: int = 0o755) -> None:
        """Send a local file of any size; appears whole or not at all. Its folder must be there."""
        try:
            stream = local.open("rb")
        except OSError as error:
            raise UsageError(f"{local} cannot be read: {error.strerror}", where=[self.name]) from error
        with stream:
            self._send(stream, os.fstat(stream.fileno()).st_size, path, mode)

    def read(self, path: str, *, limit_bytes: int = 1_048_576) -> bytes | None:
        """The first limit_bytes of a file; None if there is none."""
        script = f"{command('set', '--', _absolute(path), str(limit_bytes))}\n{_READ}"
        output = self.execute(script, timeout_s=_transfer_s(limit_bytes), limit_bytes=limit_bytes)
        if output.exit_status == _ABSENT:
            return None
        if output.exit_status != 0:
            raise self._file_failed("read", path, output)
        return output.stdout

    def _send(self, content: bytes | BinaryIO, size_bytes: int, path: str, mode: int) -> None:
        script = f"{command('set', '--', _absolute(path), str(size_bytes), f'{mode:04o}')}\n{_WRITE}"
        output = self.execute(script, timeout_s=_transfer_s(size_bytes), stdin=(content,))
        if output.exit_status != 0:
            raise self._file_failed("written", path, output)

    def _file_failed(self, verb: str, path: str, output: Output) -> CommandError:
        said = self._text(output.stderr, output.stderr_cut_bytes).strip().splitlines()[-5:]
        return CommandError(f"{path} cannot be {verb}", exit_status=output.exit_status, where=[self.name], why=said)

    def _failed(self, script: str, result: Result) -> CommandError:
        said = (result.stderr.strip() or result.stdout.strip()).splitlines()[-10:]
        return CommandError(
            f"`{self.summary(script)}` ended with status {result.exit_status}",
            exit_status=result.exit_status,
            where=[self.name],
            why=said,
        )

    def summary(self, script: str) -> str:
        """The script as messages quote it: its first line that does something, at most 100 characters, redacted."""
        lines = (line.strip() for line in self.redact(script).splitlines())
        first = next((line for line in lines if line and not line.startswith(("#", "set -"))), "")
        return first if len(first) <= 100 else f"{first[:97]}..."

    def _text(self, data: bytes, cut_bytes: int) -> str:
        text = self.redact(data.decode(errors="replace"))
        if not cut_bytes:
            return text
        # Half a secret may stand where the cut is: that much more was kept, and goes now.
        return f"[{cut_bytes} bytes were cut here]\n{text[self.redact.longest :]}"


def packed(script: str) -> tuple[str, bytes]:
    """The command line that runs `script` with /bin/sh, and what must come first on its stdin.

    A script that is too long for a command line is read from stdin, and run only if it came whole.
    """
    line = _sh(script)
    if len(line.encode()) <= EXEC_LIMIT_BYTES:
        return line, b""
    end = f"#{secrets.token_hex(8)}"
    data = f"{script}\n{end}".encode()
    loader = f"""s=$(head -c {len(data)})
case $s in *'{end}') eval "$s" ;; *) echo 'the script did not come whole' >&2; exit 1 ;; esac"""
    return _sh(loader), data


def _sh(script: str) -> str:
    return command("env", "LC_ALL=C.UTF-8", "/bin/sh", "-c", script)


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError(f"a path on a host is absolute: {path!r}")
    return path


def _transfer_s(size_bytes: int) -> float:
    """How long a transfer may take: a minute, and no slower than 256 KiB per second."""
    return 60 + size_bytes / 262_144
