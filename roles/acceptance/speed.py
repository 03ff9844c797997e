"""How fast a server was, from its statistics lines: tokens a second at each number of running requests."""

from collections.abc import Mapping
from dataclasses import dataclass

_ENOUGH_LINES = 3
_MOST_KEYS = 1024


@dataclass(frozen=True)
class Pace:
    """Two servers at the same number of running requests, tokens a second of all of them."""

    running: int
    before: float
    after: float

    @property
    def relative(self) -> float:
        """-0.2 is a fifth slower."""
        return self.after / self.before - 1


class Speeds:
    """Takes statistics lines; those with nothing running or nothing generated say nothing about speed."""

    def __init__(self) -> None:
        self._sums: dict[int, tuple[float, int]] = {}

    def add(self, running: int | None, tokens_per_s: float) -> None:
        """Take a line."""
        if not running or tokens_per_s <= 0 or (running not in self._sums and len(self._sums) >= _MOST_KEYS):
            return
        total, lines = self._sums.get(running, (0.0, 0))
        self._sums[running] = (total + tokens_per_s, lines + 1)

    def means(self) -> dict[int, tuple[float, int]]:
        """Mean tokens a second and number of lines, by running requests."""
        return {running: (total / lines, lines) for running, (total, lines) in self._sums.items()}


def compare(before: Mapping[int, tuple[float, int]], after: Mapping[int, tuple[float, int]]) -> Pace | None:
    """Both at the number of running requests that they share for longest; None when they share none for 3 lines."""
    shared = {running: min(before[running][1], after[running][1]) for running in before if running in after}
    running = max(shared, key=lambda one: (shared[one], -one), default=None)
    if running is None or shared[running] < _ENOUGH_LINES:
        return None
    return Pace(running, before[running][0], after[running][0])
