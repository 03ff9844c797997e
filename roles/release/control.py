"""What the controller asks of the host's control.sh, and how that script gets there."""

import hashlib
from dataclasses import dataclass

from inventory.errors import CommandError, LockedError, ServerError
from inventory.shell import Result, Shell, command
from roles.release.layout import Layout, Supervisor
from templates.render import render

NOT_PENDING = 9
"""Exit status of control.sh when the activation it is asked about is no longer pending."""

_NOT_OURS = 10
"""Exit status of control.sh when the lock is held by another operation than the one that wants to switch."""


@dataclass(frozen=True)
class Files:
    """The two files outside releases: control.sh, and the unit where there is systemd."""

    control: str
    unit: str | None

    @property
    def control_sha(self) -> str:
        """SHA-256 of control.sh, to be compared with the host's."""
        return hashlib.sha256(self.control.encode()).hexdigest()

    @property
    def unit_sha(self) -> str | None:
        """SHA-256 of the unit."""
        return hashlib.sha256(self.unit.encode()).hexdigest() if self.unit else None


def files(layout: Layout, supervisor: Supervisor, stop_timeout_s: float) -> Files:
    """Render both."""
    values = {
        "base": layout.base,
        "service": layout.service,
        "log": layout.log,
        "supervisor": supervisor,
        "stop_timeout_s": int(stop_timeout_s),
    }
    return Files(
        control=render("release/control.sh.j2", **values),
        unit=render("server/unit.service.j2", **values) if supervisor == "systemd" else None,
    )


def install(shell: Shell, layout: Layout, wanted: Files) -> None:
    """Put them in place; takes effect at the next start of the server."""
    folders = command("mkdir", "-p", f"{layout.base}/releases", f"{layout.base}/run", layout.venvs)
    shell.run(f"umask 022; {folders} && umask 027 && {command('mkdir', '-p', layout.log.rpartition('/')[0])}")
    shell.write(layout.control, wanted.control.encode(), mode=0o755)
    if wanted.unit:
        shell.write(layout.unit, wanted.unit.encode(), mode=0o644)
        shell.run(
            f"systemctl daemon-reload && {command('systemctl', 'enable', '--quiet', layout.unit.rpartition('/')[2])}"
        )


@dataclass(frozen=True)
class Control:
    """control.sh on one host. Offsets are bytes of the engine's log at the moment of the switch."""

    shell: Shell
    layout: Layout

    def activate(self, release: str, nonce: str, *, confirm_within_s: float, previous: str | None) -> int:
        """Arm the way back, switch to the release, restart. Returns the log's offset. One exec.

        nonce: begins with the operation's, as in its lock. Raises LockedError, and has changed nothing, when another
        operation has taken that over meanwhile.
        """
        try:
            return _offset(self._run("activate", release, nonce, str(int(confirm_within_s)), previous or ""))
        except CommandError as error:
            if error.exit_status != _NOT_OURS:
                raise
            raise LockedError(
                "somebody else has taken over the lock; nothing was switched",
                where=(self.shell.name,),
                why=["This operation could not renew its lease in time: the host was out of reach for too long."],
                tries=[f"invoke status --host {self.shell.name}"],
            ) from error

    def confirm(self, nonce: str) -> None:
        """Make the pending release the promoted one. Raises ServerError when the host has gone back by itself."""
        self._pending("confirm", nonce)

    def keep(self, nonce: str) -> None:
        """Leave the pending release in service without promoting it."""
        self._pending("keep", nonce)

    def revert(self, nonce: str, why: str) -> int | None:
        """Go back now. Returns the log's offset, or None when there was nothing pending any more."""
        try:
            return _offset(self._run("revert", nonce, why))
        except CommandError as error:
            if error.exit_status == NOT_PENDING:
                return None
            raise

    def start(self) -> None:
        """Start the current release's server."""
        self._run("start")

    def stop(self) -> None:
        """Stop the server; it stays stopped."""
        self._run("stop")

    def watch(self, offset: int, wait_s: int) -> tuple[str, int]:
        """What the engine has logged since `offset`, and where that ends; waits up to wait_s for the first byte."""
        head, _, text = self._run("watch", str(offset), str(wait_s), timeout_s=wait_s + 30).stdout.partition("\n")
        end = head.removeprefix("log_offset=")
        return text, int(end) if end.isdigit() else offset

    def log_end(self) -> int:
        """Size of the engine's log, bytes."""
        size = self.shell.run(f"wc -c <{command(self.layout.log)}", check=False).stdout.strip()
        return int(size) if size.isdigit() else 0

    def _pending(self, verb: str, nonce: str) -> None:
        try:
            self._run(verb, nonce)
        except CommandError as error:
            if error.exit_status != NOT_PENDING:
                raise
            raise ServerError(
                "the host went back to the release before, because no confirmation had come in time",
                where=(self.shell.name,),
                why=["Its clock decides, not ours. The audit on the host has the details."],
                tries=[f"invoke status --host {self.shell.name}", f"invoke deploy --host {self.shell.name}"],
            ) from error

    def _run(self, *words: str, timeout_s: float = 400) -> Result:
        return self.shell.run(command(self.layout.control, *words), timeout_s=timeout_s)


def _offset(result: Result) -> int:
    for line in result.stdout.splitlines():
        name, _, value = line.partition("=")
        if name == "log_offset" and value.isdigit():
            return int(value)
    return 0
