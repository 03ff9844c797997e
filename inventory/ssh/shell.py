"""The ssh line to one machine: dialled when it is needed, verified always, and with an end to every call."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inventory.errors import UnreachableError
from inventory.secrets import Redactor
from inventory.ssh.known_hosts import HostKeys
from inventory.ssh.posix import OUTPUT_LIMIT_BYTES, Output, PosixShell, Stdin, packed

if TYPE_CHECKING:
    import paramiko


class SshShell(PosixShell):
    """A Shell on a machine that runs sshd. Any number of threads may use it at once.

    host_keys: decides about every host key that is met; without a right one nobody logs in
    redact:    knows the secrets that are taken out of outputs and messages
    connect_timeout_s: for TCP, handshake and login together; a call that has less time left gives them less

    A line that broke is dialled anew at the next use. A command is never sent twice.
    """

    def __init__(
        self,
        name: str,
        host: str,
        port: int,
        user: str,
        key: Path | None,
        host_keys: HostKeys,
        redact: Redactor,
        *,
        connect_timeout_s: float = 10,
    ) -> None:
        self._name = name
        self._host = host
        self._port = port
        self._user = user
        self._key = key
        self._host_keys = host_keys
        self.redact = redact
        self._connect_timeout_s = connect_timeout_s
        self._line = threading.Lock()  # held while somebody dials
        self._connection: Any = None  # fabric.Connection, whose module is loaded then
        self._counting = threading.Lock()
        self.exec_requests = 0
        """How many commands were sent so far."""

    @property
    def name(self) -> str:
        """How messages call this machine."""
        return self._name

    def execute(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: Stdin = (),
        on_stdout: Callable[[bytes], None] | None = None,
        limit_bytes: int = OUTPUT_LIMIT_BYTES,
    ) -> Output:
        """Run `script` with /bin/sh, as one exec request: see PosixShell."""
        from inventory.ssh.exec_request import converse

        deadline = time.monotonic() + timeout_s
        line, first = packed(script)
        channel = self._open("session", deadline)
        with self._counting:
            self.exec_requests += 1
        return converse(
            channel,
            line,
            name=self._name,
            what=self.summary(script),
            timeout_s=max(0.0, deadline - time.monotonic()),
            stdin=(first, *stdin),
            on_stdout=on_stdout,
            limit_bytes=limit_bytes,
        )

    @contextmanager
    def forward(self, port: int) -> Iterator[int]:
        """A local port (on 127.0.0.1) that leads to 127.0.0.1:port on the machine, while the context lasts.

        Raises UnreachableError when there is no line to begin with.
        """
        from inventory.ssh.forward import forwarded

        def open_channel(who: tuple[str, int]) -> "paramiko.Channel":
            deadline = time.monotonic() + self._connect_timeout_s
            return self._open("direct-tcpip", deadline, ("127.0.0.1", port), who)

        self._dialled(time.monotonic() + self._connect_timeout_s)
        with forwarded(open_channel) as local:
            yield local

    def close(self) -> None:
        """Hang up. The next use dials again."""
        self._hang_up(self._connection)

    def _open(
        self, kind: str, deadline: float, to: tuple[str, int] | None = None, who: tuple[str, int] | None = None
    ) -> "paramiko.Channel":
        """A channel on a line that works. Nothing was sent on it yet, so a line that turns out dead is dialled anew."""
        channel = self._try_to_open(kind, deadline, to, who) or self._try_to_open(kind, deadline, to, who)
        if channel is None:
            raise UnreachableError(f"{self._host}:{self._port} has stopped answering", where=[self._name])
        return channel

    def _try_to_open(
        self, kind: str, deadline: float, to: tuple[str, int] | None, who: tuple[str, int] | None
    ) -> "paramiko.Channel | None":
        import paramiko

        from inventory.ssh.exec_request import LINE_BROKE

        connection = self._dialled(deadline)
        left_s = max(0.1, min(deadline - time.monotonic(), self._connect_timeout_s))
        # Its timeout begins when the request was sent, which may block behind what another thread sends.
        watch = threading.Timer(left_s + 1, connection.client.close)
        watch.daemon = True
        watch.start()
        try:
            channel: paramiko.Channel = connection.transport.open_channel(kind, to, who, timeout=left_s)
        except paramiko.ChannelException as error:
            raise UnreachableError(
                f"the ssh server opens no channel: {error.text}",
                where=[self._name],
                why=["Nothing listens on that port there." if to else "MaxSessions of its sshd may be reached."],
            ) from error
        except LINE_BROKE:
            self._hang_up(connection)
            return None
        finally:
            watch.cancel()
        return channel

    def _dialled(self, deadline: float) -> Any:
        from inventory.ssh.dial import Login, dial

        with self._line:
            if self._connection is None or not self._connection.is_connected:
                self._forget()
                login = Login(self._name, self._host, self._port, self._user, self._key, self._host_keys)
                self._connection = dial(login, max(0.1, min(deadline - time.monotonic(), self._connect_timeout_s)))
            return self._connection

    def _hang_up(self, connection: Any) -> None:
        with self._line:
            if self._connection is connection:
                self._forget()

    def _forget(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.client.close()
