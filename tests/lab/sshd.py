"""A real ssh server (asyncssh) in front of a sandbox: exec requests and forwarding to loopback, public keys only."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import asyncssh

from tests.lab.processes import Reaper
from tests.lab.traffic import Traffic

_DISK_FULL = 'trap "" XFSZ; ulimit -S -f 0; exec /bin/sh -c "$0"'


@dataclass
class Machine:
    """A sandbox that can be logged in to.

    home:        the folder that is its /
    environment: all that its commands start with
    host_key:    private key file; authorized_keys may change or be missing at any time
    disk_full:   whether files can grow (see `Door`)
    """

    name: str
    home: Path
    environment: Mapping[str, str]
    host_key: Path
    authorized_keys: Path
    disk_full: bool = False


class Door:
    """The machine's sshd on one port: closed (connections are refused), open, or frozen (accepts, never answers).

    A frozen door also holds back commands of connections that were open before.
    """

    def __init__(self, machine: Machine, port: int, traffic: Traffic, reaper: Reaper) -> None:
        self.machine = machine
        self.port = port
        self._traffic = traffic
        self._reaper = reaper
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._deaf: asyncio.Server | None = None
        self._thawed = asyncio.Event()
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self._held: set[asyncio.StreamWriter] = set()
        self._thawed.set()

    @property
    def state(self) -> str:
        """closed, open or frozen."""
        if self._deaf:
            return "frozen"
        return "open" if self._acceptor else "closed"

    async def open(self) -> None:
        """Listen and answer."""
        await self._stop_being_deaf()
        if self._acceptor is None:
            self._acceptor = await asyncssh.listen(
                "127.0.0.1",
                self.port,
                server_factory=lambda: _Login(self),
                server_host_keys=[str(self.machine.host_key)],
                process_factory=self._serve,
                encoding=None,
                password_auth=False,
                kbdint_auth=False,
                gss_host=None,
                allow_pty=False,
                agent_forwarding=False,
                x11_forwarding=False,
                reuse_address=True,
            )

    async def close(self) -> None:
        """Refuse new connections and break those that are open, as when the network goes."""
        await self._stop_being_deaf()
        if self._acceptor:
            self._acceptor.close()
            for connection in tuple(self._connections):
                connection.abort()
            await self._acceptor.wait_closed()
            self._acceptor = None

    async def freeze(self) -> None:
        """Accept new connections and never answer; hold back commands on the old ones."""
        if self._acceptor:
            self._acceptor.close()
            await self._acceptor.wait_closed()
            self._acceptor = None
        if self._deaf is None:
            self._thawed.clear()
            self._deaf = await asyncio.start_server(self._hold, "127.0.0.1", self.port, reuse_address=True)

    async def _stop_being_deaf(self) -> None:
        if self._deaf:
            self._deaf.close()
            self._deaf = None
            for writer in tuple(self._held):
                writer.transport.abort()
        self._thawed.set()

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._held.add(writer)
        with contextlib.suppress(OSError):
            while await reader.read(4096):
                pass
        self._held.discard(writer)
        writer.close()

    # ------------------------------------------------------------------------------------- for _Login

    def entered(self, connection: asyncssh.SSHServerConnection) -> None:
        """A connection was accepted."""
        self._traffic.connection(self.machine.name)
        self._connections.add(connection)

    def left(self, connection: asyncssh.SSHServerConnection) -> None:
        """A connection is gone."""
        self._connections.discard(connection)

    def keys(self) -> asyncssh.SSHAuthorizedKeys:
        """Who may come in at this moment; a broken or missing file lets nobody in, as with a real sshd."""
        try:
            return asyncssh.read_authorized_keys(str(self.machine.authorized_keys))
        except (OSError, ValueError):
            return asyncssh.import_authorized_keys("")

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        await self._thawed.wait()
        command = process.command or "exec /bin/sh"
        self._traffic.exec(self.machine.name, command)
        argv = ["/bin/sh", "-c", command]
        if self.machine.disk_full:
            argv = ["/bin/sh", "-c", _DISK_FULL, command]
        child = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=self.machine.environment["HOME"],
            env=dict(self.machine.environment),
            start_new_session=True,
        )
        self._reaper.own.add(child.pid)
        # The channel may close at any time. The command lives on then, as under a real sshd, and meets a closed pipe.
        with contextlib.suppress(asyncssh.Error, OSError):
            await process.redirect(stdout=child.stdout, stderr=child.stderr, send_eof=False)
        feeding = asyncio.create_task(_feed(process, child.stdin))
        status = await _ended(child)
        feeding.cancel()
        self._reaper.own.discard(child.pid)
        with contextlib.suppress(asyncssh.Error, OSError):
            # A background process that kept stdout or stderr keeps the session open, as under a real sshd.
            await process.stdout.drain()
            await process.stderr.drain()
            if status < 0:
                process.exit_with_signal(_signal_name(-status))
            else:
                process.exit(status)


class _Login(asyncssh.SSHServer):
    def __init__(self, door: Door) -> None:
        self._door = door
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._door.entered(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._connection:
            self._door.left(self._connection)

    def begin_auth(self, username: str) -> bool:
        assert self._connection is not None
        self._connection.set_authorized_keys(self._door.keys())
        return True

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        return dest_host in ("127.0.0.1", "localhost")


async def _feed(process: asyncssh.SSHServerProcess[bytes], stdin: IO[bytes] | None) -> None:
    """Bring what the client sends to the command's stdin, to its end.

    Not by `process.redirect`: CPython's pipe transport loses what is written while it resumes its protocol when the end
    follows at once (_UnixWritePipeTransport._write_ready), and that is how asyncssh writes.
    """
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), stdin
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    try:
        with contextlib.suppress(asyncssh.Error, asyncssh.SignalReceived, asyncssh.BreakReceived, OSError):
            while data := await process.stdin.read(65536):
                writer.write(data)
                await writer.drain()
    finally:
        writer.close()


async def _ended(child: subprocess.Popen[bytes]) -> int:
    """The child's exit status, negative for a signal."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    watched = os.pidfd_open(child.pid)
    loop.add_reader(watched, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(watched)
        os.close(watched)
    return child.wait()


def _signal_name(number: int) -> str:
    return signal.Signals(number).name.removeprefix("SIG")
