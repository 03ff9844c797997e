"""Looks at the host's GPUs before and while load is made."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from inventory.errors import SpecrailError
from inventory.shell import Shell
from roles.gpu.activity import QUESTION, Activities, Activity, parse, together

_FIRST_S = 0.5  # into the run, so that a short one has a reading too
_EVERY_S = 3.0
_ASK_S = 60


class GpuWatch:
    """Readings of the first `used` GPUs of a host: one before, then one every few seconds."""

    def __init__(self, shell: Shell, used: int) -> None:
        self._shell = shell
        self._used = used
        self._before = together([self._look()], used)
        self._during: list[tuple[Activity, ...]] = []
        self._over = threading.Event()

    @property
    def idle_utilization(self) -> float | None:
        """How busy the GPUs were before the run, 0-1."""
        return self._before.utilization

    @property
    def during(self) -> Activities:
        """What they did while load was made."""
        return together(self._during, self._used)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look every few seconds, from another thread, as long as the context lasts."""
        thread = threading.Thread(target=self._watch, name="specrail-gpus", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join(timeout=_ASK_S)

    def _watch(self) -> None:
        wait_s = _FIRST_S
        while not self._over.wait(wait_s):
            self._during.append(self._look())
            wait_s = _EVERY_S

    def _look(self) -> tuple[Activity, ...]:
        try:
            return parse(self._shell.run(QUESTION, timeout_s=_ASK_S, check=False).stdout)
        except SpecrailError:
            return ()  # what GPUs do is told beside a measurement, and never ends it
