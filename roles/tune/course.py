"""What to measure next, and when enough was measured: as few server starts as the question needs."""

from collections.abc import Sequence

from roles.tune.points import Point
from roles.tune.predict import Prediction, predict

ENOUGH = 8
"""Speculative tokens of a run that knows enough about late positions."""
MEASURED_STARTS = 2
"""Servers that are started to be measured; a third start is for the one that stays."""


def next_to_measure(points: Sequence[Point], largest: int, concurrency: int) -> int | None:
    """The k to measure now, from what was measured at this concurrency; None when the best one was. No I/O.

    First one that knows all positions, then the best guess of it, then the best of both, or no speculation where that
    may be faster.
    """
    measured = {point.speculative_tokens for point in points}
    if max(measured, default=0) < min(ENOUGH, largest):
        return largest
    found = predict(points, concurrency)
    if len([k for k in measured if k]) < 2 and 0 not in measured and found.best in measured:
        return max(1, found.best // 2)  # it gives the cost line its second point
    if found.best not in measured:
        return found.best
    if 0 not in measured and found.at(0).high > found.at(found.best).tok_s:
        return 0
    return None


def settle(found: Prediction) -> int:
    """The k to stay with: the best where it was measured, else the fastest of those that were."""
    if found.at(found.best).measured:
        return found.best
    measured = [speed for speed in found.speeds if speed.measured]
    as_good = [speed.speculative_tokens for speed in measured if speed.speculative_tokens in found.plateau]
    return min(as_good) if as_good else max(measured, key=lambda speed: speed.tok_s).speculative_tokens
