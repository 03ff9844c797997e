"""Signals that end a verb as Ctrl-C does: SIGTERM of systemd, timeout and CI, SIGHUP of a terminal that was closed."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

_LIKE_CTRL_C = (signal.SIGTERM, signal.SIGHUP)

_met: list[int] = []


def exit_code() -> int:
    """Exit code of a verb that was interrupted, as shells have it: 130 after Ctrl-C, 143 SIGTERM, 129 SIGHUP."""
    return 128 + (_met[0] if _met else signal.SIGINT)


@contextlib.contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Have these signals end the block with KeyboardInterrupt. One that is ignored (nohup) stays so.

    Only the first counts: `timeout` sends two, and the second would break off what the first has begun to clean up.
    """
    if threading.current_thread() is not threading.main_thread():  # no signal is delivered to another thread
        yield
        return
    terminals = [stream.fileno() for stream in (sys.__stdout__, sys.__stderr__) if stream and stream.isatty()]

    def end(number: int, frame: FrameType | None) -> None:
        _met.append(number)
        for one in mine:
            signal.signal(one, signal.SIG_IGN)
        _speak_to_nobody(terminals)
        on_ctrl_c = signal.getsignal(signal.SIGINT)  # asyncio has its own while it runs
        if callable(on_ctrl_c):
            on_ctrl_c(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt

    mine = [one for one in _LIKE_CTRL_C if signal.getsignal(one) is signal.SIG_DFL]
    for one in mine:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one in mine:
            signal.signal(one, signal.SIG_DFL)
        _met.clear()


def _speak_to_nobody(terminals: list[int]) -> None:
    """Lead what is said to a terminal that is gone into nothing: every word would fail, and end the cleaning up."""
    for number in terminals:
        if not os.isatty(number):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, number)
            os.close(nothing)
