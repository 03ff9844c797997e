"""This machine as a host of specrail: a shell that needs no ssh, and a site whose node is never asked."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread, Timer

from rich.console import Console

from inventory.errors import DeadlineExceeded
from inventory.load import ResolvedHost
from inventory.models import Api, Container, Host, Node, Ssh, Token
from inventory.secrets import Redactor
from inventory.shell import HostShell
from inventory.ssh.posix import OUTPUT_LIMIT_BYTES, Output, PosixShell, Stdin
from inventory.ssh.streams import Kept
from playbooks.site import Site

NAME = "here"

_PIECE_BYTES = 65536

NOBODY = Container.model_validate({"ctid": 100, "template": "local:vztmpl/none.tar.zst"})
"""Stands where an inventory has a container: a machine of its own has none, and nothing here asks for it."""

_NODE = Node(
    name="none",
    api=Api(host="127.0.0.1", token=Token(id="none@pve!none", secret="env:NONE"), fingerprint=":".join(["00"] * 32)),
    ssh=Ssh(host="127.0.0.1"),
)


class HereShell(PosixShell):
    """A shell on this machine: the same primitive as an ssh line's, over a process of our own."""

    def __init__(self, redact: Redactor) -> None:
        self.redact = redact

    @property
    def name(self) -> str:
        """How messages call it."""
        return NAME

    def execute(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: Stdin = (),
        on_stdout: Callable[[bytes], None] | None = None,
        limit_bytes: int = OUTPUT_LIMIT_BYTES,
    ) -> Output:
        """See PosixShell.execute. A script that outlasts its time is killed; what it started and left is not."""
        out, err = Kept(limit_bytes), Kept(limit_bytes)
        with TemporaryFile() as given:
            for part in stdin:
                given.write(part if isinstance(part, bytes) else part.read())
            given.seek(0)
            process = subprocess.Popen(
                ["env", "LC_ALL=C.UTF-8", "/bin/sh", "-c", script],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        expired: list[bool] = []

        def expire() -> None:
            expired.append(True)
            process.kill()

        watch = Timer(timeout_s, expire)
        watch.start()
        assert process.stdout is not None
        assert process.stderr is not None
        drainer = Thread(target=_drain, args=(process.stderr.fileno(), err.add), daemon=True)
        drainer.start()
        try:
            with process.stdout as stream:
                while piece := os.read(stream.fileno(), _PIECE_BYTES):
                    out.add(piece)
                    if on_stdout:
                        on_stdout(piece)
            status = process.wait()
            drainer.join()
        finally:
            watch.cancel()
            process.stderr.close()
        if expired:
            raise DeadlineExceeded(f"`{self.summary(script)}` did not end within {timeout_s:g} s", where=[NAME])
        return Output(status, out.take(), err.take(), out.cut_bytes, err.cut_bytes)

    @contextmanager
    def forward(self, port: int) -> Iterator[int]:
        """The port itself: it is on this machine already."""
        yield port

    def close(self) -> None:
        """There is no line to hang up."""


def _drain(stream: int, add: Callable[[bytes], None]) -> None:
    while piece := os.read(stream, _PIECE_BYTES):
        add(piece)


class Here(Site):
    """A site of this machine: its shell is local; its node does not exist."""

    def __init__(self, host: Host, folder: Path, console: Console) -> None:
        resolved = ResolvedHost(NAME, host, "none", _NODE, {})
        super().__init__(resolved, verb="gpu", checkout=folder, talk_to=console)

    @cached_property
    def shell(self) -> HostShell:
        """Without ssh."""
        return HereShell(self.redactor)

    @cached_property
    def state(self) -> Path:
        """Below the folder of this run: nothing is written beside the checkout."""
        folder: Path = self._checkout / "state"
        folder.mkdir(parents=True, exist_ok=True)
        return folder
