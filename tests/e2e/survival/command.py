"""A whole command as a person starts it: a process of its own, whose words are read while it runs."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from typing import IO

from tests.e2e.person import CHECKOUT, INVOKE, Said

PATIENCE_S = 90
"""Ends a test that has failed anyway; nothing here takes a fraction of it."""


class Command:
    """`invoke WORDS`, running in a process group of its own, as a terminal would start it."""

    def __init__(self, words: tuple[str, ...], environment: Mapping[str, str]) -> None:
        self._words = words
        self._heard: list[str] = []
        self._stdout: list[str] = []
        self._stderr: list[str] = []
        self._news = threading.Condition()
        self._process = subprocess.Popen(
            [INVOKE, *words],
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

    def terminate(self) -> None:
        """What `timeout` does: SIGTERM to the process, and once more to its whole group."""
        os.kill(self._process.pid, signal.SIGTERM)
        os.killpg(self._process.pid, signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL to the whole group: the laptop is gone."""
        os.killpg(self._process.pid, signal.SIGKILL)

    def end(self, timeout_s: float = PATIENCE_S) -> Said:
        """Wait for its end. Whatever happened to it, nobody wants to see a traceback."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
            raise AssertionError(f"it did not end in {timeout_s} s:\n" + "\n".join(self._heard)) from None
        for reader in self._readers:
            reader.join()
        said = Said(" ".join(self._words), code, "\n".join(self._stdout), "\n".join(self._stderr))
        assert "Traceback" not in said.all, said.err
        return said

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
