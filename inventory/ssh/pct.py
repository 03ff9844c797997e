"""A shell inside a container that has no network yet: through the root shell of its node, with `pct exec`."""

from collections.abc import Callable

from inventory.errors import UnreachableError
from inventory.shell import command
from inventory.ssh.posix import OUTPUT_LIMIT_BYTES, Output, PosixShell, Stdin, packed

# What pct says when there is nobody to execute anything, PVE 7-9: PVE/CLI/pct.pm and PVE/LXC/Config.pm.
_STOPPED = "container '{ctid}' not running!"
_ABSENT = "lxc/{ctid}.conf' does not exist"


class PctShell(PosixShell):
    """A Shell in container `ctid` of the node that `node` is a root shell on.

    Closing it leaves the node's line open.
    """

    def __init__(self, node: PosixShell, ctid: int) -> None:
        self._node = node
        self._ctid = ctid
        self.redact = node.redact

    @property
    def name(self) -> str:
        """How messages call this container: "pve1/129"."""
        return f"{self._node.name}/{self._ctid}"

    def execute(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: Stdin = (),
        on_stdout: Callable[[bytes], None] | None = None,
        limit_bytes: int = OUTPUT_LIMIT_BYTES,
    ) -> Output:
        """Run `script` with the container's /bin/sh: see PosixShell. Raises UnreachableError when it is not running."""
        line, first = packed(script)
        output = self._node.execute(
            f"{command('pct', 'exec', str(self._ctid), '--')} {line}",
            timeout_s=timeout_s,
            stdin=(first, *stdin),
            on_stdout=on_stdout,
            limit_bytes=limit_bytes,
        )
        if output.exit_status != 0 and not output.stdout:
            self._refuse_absent(output.stderr)
        return output

    def close(self) -> None:
        """Nothing to do: the line is the node's."""

    def _refuse_absent(self, stderr: bytes) -> None:
        said = stderr.decode(errors="replace").strip()
        if _STOPPED.format(ctid=self._ctid) in said:
            raise UnreachableError(
                f"container {self._ctid} is not running",
                where=[self._node.name],
                tries=[command("pct", "start", str(self._ctid))],
            )
        if _ABSENT.format(ctid=self._ctid) in said:
            raise UnreachableError(
                f"there is no container {self._ctid} on this node", where=[self._node.name], tries=["pct list"]
            )
