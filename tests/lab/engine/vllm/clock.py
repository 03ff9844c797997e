"""The engine's clock, which the lab can make run faster than the wall's."""

import asyncio
import os
import time


class Clock:
    """Engine seconds: seconds of the wall's clock times `rate`."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._started = time.monotonic()

    @classmethod
    def from_environment(cls) -> "Clock":
        """Read SPECRAIL_LAB_CLOCK (10 is ten times fast). Raises ValueError when it is no positive number."""
        rate = float(os.environ.get("SPECRAIL_LAB_CLOCK", "1"))
        if not 0 < rate < float("inf"):
            raise ValueError(f"SPECRAIL_LAB_CLOCK must be a positive number, not {rate}")
        return cls(rate)

    def now_s(self) -> float:
        """Engine seconds since this clock was made."""
        return (time.monotonic() - self._started) * self.rate

    def wait(self, duration_s: float) -> None:
        """Block for so many engine seconds: the start-up, before there is an event loop."""
        time.sleep(duration_s / self.rate)

    async def until(self, moment_s: float) -> None:
        """Come back when the clock shows moment_s. Yields to other tasks at least once."""
        await asyncio.sleep(max(0.0, (moment_s - self.now_s()) / self.rate))
