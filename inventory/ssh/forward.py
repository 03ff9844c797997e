"""A port of a host, reachable at a local one through ssh: `direct-tcpip` channels, one for each connection."""

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread

import paramiko

from inventory.errors import SpecrailError
from inventory.ssh.exec_request import LINE_BROKE

OpenChannel = Callable[[tuple[str, int]], paramiko.Channel]
"""Given who connects (address, port), a channel to the host's port."""

_PIECE_BYTES = 64 * 1024
_GOODBYE_S = 1.0
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER for 0 s: close() resets the connection


@contextmanager
def forwarded(open_channel: OpenChannel) -> Iterator[int]:
    """A port on 127.0.0.1 whose connections are carried by channels from `open_channel`.

    A connection whose channel cannot be opened (nothing listens there yet) or breaks is reset, as without ssh.
    On leaving, the port and all its connections are closed.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        calls = _Calls(open_channel)
        acceptor = Thread(target=calls.accept, args=(listener,), daemon=True)
        acceptor.start()
        try:
            yield listener.getsockname()[1]
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
            acceptor.join()
            calls.hang_up()


class _Calls:
    """The connections of one forwarded port."""

    def __init__(self, open_channel: OpenChannel) -> None:
        self._open_channel = open_channel
        self._lock = Lock()
        self._live: dict[_Call, Thread] = {}

    def accept(self, listener: socket.socket) -> None:
        """Take connections until the listener is shut down."""
        while True:
            try:
                near, who = listener.accept()
            except OSError:
                return
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            call = _Call(near)
            thread = Thread(target=self._carry, args=(call, who), daemon=True)
            with self._lock:
                self._live[call] = thread
            thread.start()

    def hang_up(self) -> None:
        """End all connections. Threads that hang on a line that is stuck are left behind."""
        with self._lock:
            live = dict(self._live)
        for call in live:
            call.hang_up()
        for thread in live.values():
            thread.join(_GOODBYE_S)

    def _carry(self, call: "_Call", who: tuple[str, int]) -> None:
        try:
            call.carry(self._open_channel, who)
        finally:
            with self._lock:
                del self._live[call]


class _Call:
    """One connection, with a thread for each direction."""

    def __init__(self, near: socket.socket) -> None:
        self._near = near
        self._far: paramiko.Channel | None = None
        self._over = False

    def carry(self, open_channel: OpenChannel, who: tuple[str, int]) -> None:
        """Bring bytes both ways until both ends have closed, or one is gone."""
        with self._near:
            try:
                far = self._far = open_channel(who)
            except (SpecrailError, *LINE_BROKE):
                self._break_off()
                return
            back = Thread(target=self._bring_back, args=(far,), daemon=True)
            back.start()
            self._take_there(far)
            back.join()
            _close(far)

    def hang_up(self) -> None:
        """End it from outside, as a connection that breaks."""
        self._over = True
        self._break_off()
        if self._far is not None:
            _close(self._far)

    def _take_there(self, far: paramiko.Channel) -> None:
        with suppress(*LINE_BROKE):
            while piece := self._near.recv(_PIECE_BYTES):
                far.sendall(piece)
        with suppress(*LINE_BROKE):
            if self._over:
                far.close()
            else:
                far.shutdown_write()

    def _bring_back(self, far: paramiko.Channel) -> None:
        with suppress(*LINE_BROKE):
            while piece := far.recv(_PIECE_BYTES):
                self._near.sendall(piece)
        if not far.eof_received:  # the line broke: that must not look like the end of an answer
            self._break_off()
            return
        with suppress(OSError):
            self._near.shutdown(socket.SHUT_WR)

    def _break_off(self) -> None:
        """Have `near` reset when it is closed, and end the way there, which leads to that."""
        with suppress(OSError):
            self._near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._near.shutdown(socket.SHUT_RD)


def _close(channel: paramiko.Channel) -> None:
    with suppress(*LINE_BROKE):
        channel.close()
