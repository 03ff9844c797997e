"""A whole command as a person starts it: a process of its own, read line by line while it runs."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CHECKOUT = Path(__file__).resolve().parents[3]
INVOKE = Path(sys.executable).with_name("invoke")
PATIENCE_S = 90
"""Ends a test that has failed anyway; nothing here takes a fraction of it."""


@dataclass(frozen=True)
class Ended:
    """How a command ended. code is negative for one that a signal killed, as subprocess has it."""

    code: int
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        """All that the person saw, on single spaces, so that no test depends on where lines break."""
        return " ".join(f"{self.stderr}\n{self.stdout}".split())


class Command:
    """`invoke ARGUMENTS`, running in a process group of its own, as a terminal would start it."""

    def __init__(self, arguments: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self._heard: list[str] = []
        self._stdout: list[str] = []
        self._stderr: list[str] = []
        self._news = threading.Condition()
        self._process = subprocess.Popen(
            [str(INVOKE), *arguments],
            cwd=CHECKOUT,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._readers = [
            threading.Thread(target=self._read, args=(self._process.stderr, self._stderr), daemon=True),
            threading.Thread(target=self._read, args=(self._process.stdout, self._stdout), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        """Of the process that a lock names."""
        return self._process.pid

    def until(self, pattern: str, timeout_s: float = PATIENCE_S) -> str:
        """Wait for a line of stderr or stdout that matches, and return it. AssertionError when none comes."""
        deadline = time.monotonic() + timeout_s
        with self._news:
            seen = 0
            while True:
                for line in self._heard[seen:]:
                    if re.search(pattern, line):
                        return line
                seen = len(self._heard)
                going_on = any(reader.is_alive() for reader in self._readers) and time.monotonic() < deadline
                assert going_on, f"no line like {pattern!r} in\n" + "\n".join(self._heard)
                self._news.wait(0.2)

    def interrupt(self) -> None:
        """Ctrl-C: SIGINT to the whole group."""
        os.killpg(self._process.pid, signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL to the whole group: the laptop is gone."""
        os.killpg(self._process.pid, signal.SIGKILL)

    def end(self, timeout_s: float = PATIENCE_S) -> Ended:
        """Wait for its end."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
            raise AssertionError(f"it did not end in {timeout_s} s:\n" + "\n".join(self._heard)) from None
        for reader in self._readers:
            reader.join()
        with self._news:
            stdout = "\n".join(self._stdout)
            stderr = "\n".join(self._stderr)
        return Ended(code, stdout, stderr)

    def clean_up(self) -> None:
        """Leave nothing running, whatever happened to the test."""
        if self._process.poll() is None:
            self.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join()

    def _read(self, stream: IO[str], to: list[str]) -> None:
        with stream:
            for line in stream:
                with self._news:
                    to.append(line.rstrip("\n"))
                    self._heard.append(to[-1])
                    self._news.notify_all()
