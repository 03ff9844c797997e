"""What an SshShell may meet: OpenSSH, a server with faults on command, a relay that cuts, an ear that never speaks."""

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import asyncssh

from inventory.secrets import Redactor
from inventory.ssh.known_hosts import HostKeys
from inventory.ssh.shell import SshShell
from inventory.wait import wait_for

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
HOST = "127.0.0.1"
USER = pwd.getpwuid(os.getuid()).pw_name


@dataclass(frozen=True)
class Server:
    """Where a server listens, and the two keys that matter: its own and the one that it lets in."""

    port: int
    host_key: str
    key: Path

    def shell(
        self,
        *,
        port: int | None = None,
        host_keys: HostKeys | None = None,
        redact: Redactor | None = None,
        connect_timeout_s: float = 10,
    ) -> SshShell:
        """A shell on it; each argument replaces what would be right."""
        return SshShell(
            "ct129",
            HOST,
            port or self.port,
            USER,
            self.key,
            host_keys or HostKeys(pinned=self.host_key),
            redact or Redactor(),
            connect_timeout_s=connect_timeout_s,
        )


def make_key(path: Path, kind: str = "ssh-ed25519") -> str:
    """Write a private key, mode 0600; the public one is returned."""
    key = asyncssh.generate_private_key(kind)
    path.touch(mode=0o600)
    path.write_bytes(key.export_private_key())
    return key.export_public_key().decode().strip()


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as ear:
        port: int = ear.getsockname()[1]
        return port


def _banner(port: int) -> bytes | None:
    try:
        with socket.create_connection((HOST, port), timeout=5) as sock:
            return sock.recv(4) or None
    except OSError:
        return None


@contextmanager
def openssh(folder: Path, more: str = "") -> Iterator[Server]:
    """sshd itself, as the user who runs the tests, with `more` lines of configuration."""
    assert SSHD is not None
    host_key, login = make_key(folder / "host_key"), make_key(folder / "login")
    (folder / "authorized_keys").write_text(f"{login}\n")
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd's privilege separation wants it
    port = _free_port()
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress {HOST}\nHostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\n"
        "UsePAM no\nStrictModes no\nPermitRootLogin yes\nPidFile none\nMaxStartups 100\nMaxSessions 100\nLogLevel ERROR\n"
        f"SetEnv HOME={folder}\n"  # else each command waits for the ~/.bashrc of whoever runs the tests
        f"{more}"
    )
    daemon = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: _banner(port), what="sshd", timeout_s=20, interval_s=0.05)
        yield Server(port, host_key, folder / "login")
    finally:
        daemon.terminate()
        daemon.wait()


@contextmanager
def asyncssh_server(folder: Path, *, refuses_commands: bool = False) -> Iterator[Server]:
    """A server that runs commands as sshd does, but for those that ask for a fault: see `_process`."""
    host_key, login = make_key(folder / "host_key"), make_key(folder / "login")
    (folder / "authorized_keys").write_text(f"{login}\n")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    acceptor = asyncio.run_coroutine_threadsafe(_listen(folder, refuses_commands), loop).result(20)
    try:
        yield Server(acceptor.get_port(), host_key, folder / "login")
    finally:
        asyncio.run_coroutine_threadsafe(_shut(acceptor), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()


async def _listen(folder: Path, refuses_commands: bool) -> asyncssh.SSHAcceptor:
    return await asyncssh.create_server(
        _Server,
        HOST,
        0,
        server_host_keys=[str(folder / "host_key")],
        authorized_client_keys=str(folder / "authorized_keys"),
        process_factory=None if refuses_commands else _process,
        encoding=None,
    )


async def _shut(acceptor: asyncssh.SSHAcceptor) -> None:
    acceptor.close()
    for connection in list(_Server.connections):
        connection.abort()
        await connection.wait_closed()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class _Server(asyncssh.SSHServer):
    connections: ClassVar[set[asyncssh.SSHServerConnection]] = set()

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.connections.add(conn)

    def session_requested(self) -> "asyncssh.SSHServerSession[bytes]":
        return asyncssh.SSHServerSession()  # takes no requests; only asked where there is no process_factory

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        return True


async def _process(process: "asyncssh.SSHServerProcess[bytes]") -> None:
    line = process.command or ""
    if "fault-abort" in line:
        process.stdout.write(b"begun\n")
        await process.stdout.drain()
        process.channel.get_connection().abort()
    elif "fault-no-status" in line:
        process.close()
    elif "fault-silence" in line:
        await asyncio.Event().wait()
    else:
        child = await asyncio.create_subprocess_shell(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        feeding = asyncio.create_task(_pump(process.stdin, child.stdin, close=True))
        try:
            await asyncio.gather(_pump(child.stdout, process.stdout), _pump(child.stderr, process.stderr))
            process.exit(await child.wait())
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
            if child.returncode is None:
                os.killpg(child.pid, signal.SIGKILL)
                await child.wait()


async def _pump(source: Any, sink: Any, *, close: bool = False) -> None:
    with contextlib.suppress(asyncssh.Error, OSError):
        while piece := await source.read(65536):
            sink.write(piece)
            await sink.drain()
    if close:
        sink.close()


@contextmanager
def silent() -> Iterator[int]:
    """A port that takes connections and never says anything."""
    with socket.create_server((HOST, 0)) as ear:
        yield ear.getsockname()[1]


class Relay:
    """Stands between client and server; cuts all connections when told, or when a client has sent `cut_after` bytes."""

    def __init__(self, port: int, cut_after: int | None = None) -> None:
        self._to = port
        self._left = cut_after
        self._ear = socket.create_server((HOST, 0))
        self._socks: list[socket.socket] = []
        self._stalled: set[socket.socket] = set()
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self.port: int = self._ear.getsockname()[1]
        self.calls = 0

    def __enter__(self) -> "Relay":
        self._spawn(self._accept)
        return self

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(OSError):
            self._ear.shutdown(socket.SHUT_RDWR)
        self._over.set()
        self.cut()
        for thread in self._threads:
            thread.join(10)
        for sock in (self._ear, *self._socks):
            sock.close()

    def stall(self) -> None:
        """Read no more from the clients that are connected now, and keep them connected."""
        self._stalled = set(self._socks)

    def cut(self) -> None:
        """Break all connections that are open now; later ones are carried for good."""
        self._left = None
        for sock in self._socks:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _spawn(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._ear.accept()
            except OSError:
                return
            self.calls += 1
            far = socket.create_connection((HOST, self._to))
            self._socks += [near, far]
            self._spawn(self._carry, near, far, True)
            self._spawn(self._carry, far, near, False)

    def _carry(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(16384):
                if counted and self._left is not None:
                    self._left -= len(piece)
                    if self._left < 0:
                        self.cut()
                if source in self._stalled and counted:
                    self._over.wait()
                sink.sendall(piece)
        for sock in (source, sink):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
