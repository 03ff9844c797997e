"""Looks at the host's GPUs before and while load is made."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from inventory.errors import SpecrailError
from inventory.shell import Shell
from playbooks.meanwhile import again_and_again
from roles.gpu.activity import QUESTION, Activities, Activity, parse, together
from roles.load.circumstances import IDLE_UTILIZATION

_FIRST_S = 0.5  # into the run, so that a short one has a reading too
_EVERY_S = 3.0
_ASK_S = 60
_SETTLE_S = (0.5, 1.0, 2.0)  # the driver's figure is a mean over the last second: what just ended is still in it


class GpuWatch:
    """Readings of the first `used` GPUs of a host: one before, then one every few seconds.

    wait: as time.sleep; the one before is taken again until the GPUs have forgotten our own gate or warm-up
    """

    def __init__(self, shell: Shell, used: int, wait: Callable[[float], None] = time.sleep) -> None:
        self._shell = shell
        self._used = used
        self._before = self._settled(wait)
        self._during: list[tuple[Activity, ...]] = []
        self._over = False

    @property
    def idle_utilization(self) -> float | None:
        """How busy the GPUs were before the run, 0-1."""
        return self._before.utilization

    @property
    def during(self) -> Activities:
        """What they did while load was made; nothing where no reading saw any of it."""
        found = together(self._during, self._used)
        # Load without any work of a GPU there is not: such readings are of the second before a short run.
        return Activities() if found.utilization == 0 else found

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look every few seconds as long as the context lasts; what is answered later is not of it."""
        with again_and_again(self._keep, first_s=_FIRST_S, every_s=_EVERY_S):
            yield
            self._over = True

    def _keep(self) -> None:
        reading = self._look()
        if not self._over:
            self._during.append(reading)

    def _settled(self, wait: Callable[[float], None]) -> Activities:
        seen = together([self._look()], self._used)
        for pause_s in _SETTLE_S:
            if seen.utilization is None or seen.utilization <= IDLE_UTILIZATION:
                break
            wait(pause_s)
            seen = together([self._look()], self._used)
        return seen

    def _look(self) -> tuple[Activity, ...]:
        try:
            return parse(self._shell.run(QUESTION, timeout_s=_ASK_S, check=False).stdout)
        except SpecrailError:
            return ()  # what GPUs do is told beside a measurement, and never ends it
