"""SIGTERM and SIGHUP end a verb as Ctrl-C does."""

import asyncio
import os
import pty
import signal
import subprocess
import sys
import threading

import pytest

from playbooks.endings import exit_code, like_ctrl_c

SIGNALS = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}

CLOSED_TERMINAL = """
import signal, sys
from playbooks.endings import exit_code, like_ctrl_c
code = 1
with like_ctrl_c():
    try:
        print("ready", flush=True)
        signal.pause()
    except KeyboardInterrupt:
        print("cleaning up", flush=True)
        print("cleaning up", file=sys.stderr, flush=True)
        code = exit_code()
sys.exit(code)
"""


@pytest.mark.parametrize(("number", "code"), SIGNALS.items())
def test_it_is_an_interruption_with_an_exit_code_of_its_own(number: signal.Signals, code: int) -> None:
    before = signal.getsignal(number)
    with like_ctrl_c():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        assert exit_code() == code
    assert signal.getsignal(number) is before
    assert exit_code() == 130


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_coroutine_is_cancelled_as_by_ctrl_c(number: signal.Signals) -> None:
    ended = []

    async def work() -> None:
        asyncio.get_running_loop().call_soon(signal.raise_signal, number)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cleaned up")
            raise

    with like_ctrl_c(), pytest.raises(KeyboardInterrupt):
        asyncio.run(work())
    assert ended == ["cleaned up"]


def test_only_the_first_counts() -> None:
    with like_ctrl_c():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
        assert exit_code() == 143


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with like_ctrl_c():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_where_ctrl_c_is_ignored_as_in_a_script_s_background_it_ends_all_the_same() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with like_ctrl_c(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_there_is_nothing_to_do() -> None:
    met = []

    def work() -> None:
        with like_ctrl_c():
            met.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert met == [signal.SIG_DFL]


def test_a_closed_terminal_does_not_stop_the_cleaning_up() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", sys.executable, "-c", CLOSED_TERMINAL], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    assert os.read(ours, 100).startswith(b"ready")
    os.close(ours)  # the kernel hangs up: SIGHUP to the session's leader, and every write fails
    assert process.wait(timeout=30) == 129
