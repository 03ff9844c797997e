"""From printed figures back to counts: what a rounded rate allows, and how many rounds fit all figures of a line."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor, fsum

_SLACK = 1e-6  # figures are rounded from binary fractions
_CANDIDATES = 400  # more numbers of rounds than this are not tried one by one


def counts_of(
    rates: Sequence[float], rounds: int, accepted: int, half: float = 0.0005
) -> tuple[tuple[int, ...] | None, int]:
    """Rounds in which each position was accepted, and by how many each may be off. None when they cannot add up.

    half: half of the last printed digit. Where only one count fits a rate it is exact; elsewhere the nearest counts are
    moved inside what the digits allow until their sum is the exact one.
    """
    half += _SLACK
    if any(later > earlier for earlier, later in pairwise(rates)) or not 0 <= rates[0] <= 1:
        return None, 0
    if abs(fsum(rates) - accepted / rounds) > half * len(rates):
        return None, 0
    lows = [max(0, ceil((rate - half) * rounds)) for rate in rates]
    highs = [min(rounds, floor((rate + half) * rounds)) for rate in rates]
    if any(low > high for low, high in zip(lows, highs, strict=True)):
        return None, 0  # no whole number of rounds gives this rate
    counts = [min(max(round(rate * rounds), low), high) for rate, low, high in zip(rates, lows, highs, strict=True)]
    missing = accepted - sum(counts)
    order = range(len(counts)) if missing > 0 else reversed(range(len(counts)))  # keeps the counts non-increasing
    for i in order:
        room = (highs[i] if missing > 0 else lows[i]) - counts[i]
        move = min(missing, room) if missing > 0 else max(missing, room)
        counts[i] += move
        missing -= move
    spread = max(high - low for low, high in zip(lows, highs, strict=True))
    return (tuple(counts) if not missing else None), spread


def rounds_from(
    accepted: int, drafted: int, rates: Sequence[float], more_than_one: float | None
) -> tuple[int, int, int] | None:
    """(most likely, fewest, most) rounds of drafts of unequal length; None when no number fits.

    more_than_one: printed acceptance length without the bonus token (two digits), None when it is not printed.
    Fits: accepted/rounds within both figures' rounding, 1 to k tokens drafted a round, and whole counts a position.
    """
    if not accepted:
        return None  # nothing accepted in any number of rounds
    total = fsum(rates)
    least, most = total - 0.0005 * len(rates) - _SLACK, total + 0.0005 * len(rates) + _SLACK
    if more_than_one is not None:
        least, most = max(least, more_than_one - 0.005 - _SLACK), min(most, more_than_one + 0.005 + _SLACK)
    if most <= 0 or least > most:
        return None
    low = max(ceil(accepted / most), ceil(drafted / len(rates)))
    high = min(floor(accepted / least) if least > 0 else drafted, drafted)
    if low > high:
        return None
    best = min(max(round(accepted / total), low), high) if total > 0 else low
    if high - low > _CANDIDATES:
        return best, low, high
    fitting = [rounds for rounds in range(low, high + 1) if counts_of(rates, rounds, accepted)[0] is not None]
    if not fitting:
        return None
    return min(fitting, key=lambda rounds: abs(rounds - best)), fitting[0], fitting[-1]
