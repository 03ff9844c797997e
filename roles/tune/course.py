"""What to measure next, and when enough was measured: as few server starts as the question needs."""

from collections.abc import Sequence

from roles.tune.answer import Answer, answer
from roles.tune.points import Point
from roles.tune.predict import Prediction

ENOUGH = 8
"""Speculative tokens of a run that knows enough about late positions."""
MEASURED_STARTS = 2
"""Servers that are started to be measured; a third start is for the one that stays."""

_WORTH_A_START = 0.002


def next_to_measure(points: Sequence[Point], largest: int) -> int | None:
    """The k to measure now, from what was measured (each k at the same concurrencies); None when enough was. No I/O.

    First one that knows all positions, then the k that may win most over the best of those that were measured, no
    speculation among them.
    """
    measured = {point.speculative_tokens for point in points}
    if max(measured, default=0) < min(ENOUGH, largest):
        return largest
    found = answer(points)
    if found.best == max(measured) < largest:
        return largest  # the curve may go on rising
    if len([k for k in measured if k]) < 2 and 0 not in measured and found.best in measured:
        return max(1, found.best // 2)  # it gives the cost line its second point
    gains = [sum(gains) / len(gains) for gains in zip(*(one.gains for one in found.by_concurrency), strict=False)]
    most = max(range(len(gains)), key=gains.__getitem__)
    return most if gains[most] > _WORTH_A_START else None


def settle(found: Answer) -> int:
    """The k to stay with: the best where it was measured, else of those that were the one that loses least."""
    if found.first.at(found.best).measured:
        return found.best
    measured = [speed.speculative_tokens for speed in found.first.speeds if speed.measured]
    as_good = [k for k in measured if k in found.plateau]
    return min(as_good) if as_good else min(measured, key=lambda k: _worst(found.by_concurrency, k))


def _worst(found: Sequence[Prediction], k: int) -> float:
    return max(prediction.loss(k) for prediction in found)
