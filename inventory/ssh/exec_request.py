"""One exec request on an ssh channel: outputs drained, stdin streamed, and an end at the deadline whatever happens."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Thread, Timer

import paramiko

from inventory.errors import ConnectionLost, DeadlineExceeded, UnreachableError
from inventory.ssh.posix import Output, Stdin
from inventory.ssh.streams import Kept

LINE_BROKE = (OSError, EOFError, paramiko.SSHException)
"""What paramiko raises when the other side is gone."""

_PIECE_BYTES = 32 * 1024  # what one ssh packet carries
_HANG_UP_S = 1.0  # how long a polite goodbye may take


def converse(
    channel: paramiko.Channel,
    line: str,
    *,
    name: str,
    what: str,
    timeout_s: float,
    stdin: Stdin,
    on_stdout: Callable[[bytes], None] | None,
    limit_bytes: int,
) -> Output:
    """Have `line` executed on a fresh channel and stay until it has ended. Messages call it `what`, on `name`.

    Raises DeadlineExceeded; ConnectionLost when the line breaks, and the outcome is unknown; UnreachableError when the
    server does not execute commands; and whatever on_stdout or the reading of stdin raises.
    """
    stdout, stderr = Kept(limit_bytes), Kept(limit_bytes)
    feeder = _Feeder(channel, stdin)
    drainer = Thread(target=_drain, args=(channel.recv_stderr, stderr), daemon=True)
    watch = _Watch(channel, timeout_s)
    try:
        _request(channel, line, watch, name, what)
        drainer.start()
        feeder.start()
        for piece in _pieces(channel.recv):
            stdout.add(piece)
            if on_stdout:
                on_stdout(piece)
        channel.status_event.wait()
    finally:
        with suppress(*LINE_BROKE):
            channel.close()
        watch.stop()
    feeder.join()
    drainer.join()
    if watch.expired:
        raise _too_long(name, what, timeout_s)
    if feeder.failure:
        raise feeder.failure
    if channel.exit_status < 0:
        raise _lost(name, what)
    return Output(channel.exit_status, stdout.take(), stderr.take(), stdout.cut_bytes, stderr.cut_bytes)


def _request(channel: paramiko.Channel, line: str, watch: "_Watch", name: str, what: str) -> None:
    try:
        channel.exec_command(line)
    except LINE_BROKE as error:
        if watch.expired:
            return
        if isinstance(error, (EOFError, OSError)) or not channel.get_transport().is_active():
            raise _lost(name, what) from error
        raise UnreachableError(
            "the ssh server lets us in but executes no commands",
            where=[name],
            why=["ForceCommand, a restricted shell or command= in authorized_keys may be the cause."],
        ) from error
    watch.answered = True


def _pieces(receive: Callable[[int], bytes]) -> Iterator[bytes]:
    while True:
        try:
            piece = receive(2 * _PIECE_BYTES)
        except LINE_BROKE:
            return
        if not piece:
            return
        yield piece


def _drain(receive: Callable[[int], bytes], kept: Kept) -> None:
    for piece in _pieces(receive):
        kept.add(piece)


def _too_long(name: str, what: str, timeout_s: float) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"`{what}` did not end within {timeout_s:g} s",
        where=[name],
        why=["It may still be running there.", "A process that it left behind, holding its output, also keeps it."],
    )


def _lost(name: str, what: str) -> ConnectionLost:
    return ConnectionLost(
        f"the line broke while `{what}` ran",
        where=[name],
        why=["Whether it ran to its end is not known. It is not run again by itself."],
    )


class _Feeder:
    """Sends stdin from a thread of its own: a command may talk before it has read all."""

    def __init__(self, channel: paramiko.Channel, parts: Stdin) -> None:
        self._channel = channel
        self._parts = parts
        self._thread = Thread(target=self._feed, daemon=True)
        self.failure: Exception | None = None

    def start(self) -> None:
        """Begin to send. With nothing to send only the end is told, without a thread."""
        if any(self._parts):
            self._thread.start()
        else:
            self._feed()

    def join(self) -> None:
        """Wait for the thread; the channel is closed by now, which ends it."""
        if self._thread.ident is not None:
            self._thread.join()

    def _feed(self) -> None:
        for piece in self._read():
            try:
                self._channel.sendall(piece)
            except LINE_BROKE:  # the command ended before it had read all, or the line broke: its status tells
                return
        with suppress(*LINE_BROKE):
            if self.failure:
                self._channel.close()  # not just an end of stdin: what has come so far must not be taken for all
            else:
                self._channel.shutdown_write()

    def _read(self) -> Iterator[bytes]:
        try:
            for part in self._parts:
                if isinstance(part, bytes):
                    view = memoryview(part)
                    yield from (bytes(view[at : at + _PIECE_BYTES]) for at in range(0, len(view), _PIECE_BYTES))
                else:
                    while piece := part.read(_PIECE_BYTES):
                        yield piece
        except (OSError, ValueError) as error:
            self.failure = error


class _Watch:
    """Ends a channel at its deadline, from outside: no call into paramiko can be trusted to come back by itself."""

    def __init__(self, channel: paramiko.Channel, timeout_s: float) -> None:
        self._channel = channel
        self.answered = False  # whether the server has taken the request
        self.expired = False
        self._timer = Timer(timeout_s, self._expire)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """No more deadline. Waits for one that is being carried out."""
        self._timer.cancel()
        self._timer.join()

    def _expire(self) -> None:
        self.expired = True
        goodbye = Thread(target=self._hang_up, daemon=True)
        goodbye.start()
        goodbye.join(_HANG_UP_S)
        if goodbye.is_alive() or not self.answered:
            self._channel.get_transport().close()  # the line itself is stuck; the next use dials again
        # paramiko forgets those who wait on a channel that was closed before they began to.
        self._channel.event.set()
        self._channel.status_event.set()

    def _hang_up(self) -> None:
        with suppress(*LINE_BROKE):
            self._channel.close()
