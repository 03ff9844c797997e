"""The arithmetic of `rounding` and `vllm_spec` for many lines at once; what is near an edge is left to those."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roles.acceptance.stencil import ACCEPTED, DRAFTED, LENGTH, RATE, RATES

if TYPE_CHECKING:
    Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    Flags = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    Places = np.ndarray[tuple[int, ...], np.dtype[np.intp]]

_HALF = 0.0005 + 1e-6  # of the last printed digit of a rate, as in rounding
_EDGE = 1e-9  # nearer to a limit than this, sums in another order may fall on its other side
_MOST_CANDIDATES = 400  # as in rounding
_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Counted:
    """Lines of equal k, as `vllm_spec.window_of` counts each: one entry (or row) a line.

    good:         which lines are counted; the others must be read alone, and their entries mean nothing
    rounds:       verify steps; fewest, most: what rounding leaves open
    per_position: counts, (lines, k)
    spread:       how much the counts of a position may be off
    """

    good: "Flags"
    rounds: "Numbers"
    fewest: "Numbers"
    most: "Numbers"
    per_position: "Numbers"
    spread: "Numbers"


def counted(table: "Numbers", *, length: bool, unequal: bool) -> Counted:
    """Count the lines of a table (see `Stencil.lay`) whose lines print a length, or do not.

    unequal: drafts may be shorter than k, so that rounds come from the length and the rates.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        accepted, drafted, rates = table[:, ACCEPTED], table[:, DRAFTED], table[:, RATES:] / 1000
        printed = table[:, LENGTH] / 100 if length else None
        known = (drafted > 0) & _below(np.abs(table[:, RATE] / 10 - 100 * accepted / drafted), 0.0501)
        if unequal:
            return _unequal(known, accepted, drafted, rates, printed)
        return _equal(known, accepted, drafted, rates, printed)


def _equal(
    known: "Flags", accepted: "Numbers", drafted: "Numbers", rates: "Numbers", printed: "Numbers | None"
) -> Counted:
    k = rates.shape[1]
    rounds = np.floor(drafted / k)
    mean = accepted / rounds
    good = known & (rounds * k == drafted)
    if printed is not None:
        good &= _below(np.minimum(np.abs(printed - 1 - mean), np.abs(printed - mean)), 0.00501)
    possible, counts, spread = _positions(rates, rounds, accepted)
    return Counted(good & possible, rounds, rounds, rounds, counts, spread)


def _unequal(
    known: "Flags", accepted: "Numbers", drafted: "Numbers", rates: "Numbers", printed: "Numbers | None"
) -> Counted:
    k = rates.shape[1]
    total = np.rint(rates.sum(axis=1) * 1000) / 1000
    least, most = total - 0.0005 * k - 1e-6, total + 0.0005 * k + 1e-6
    if printed is not None:
        bonus = np.abs(printed - total) < np.abs(printed - 1 - total)
        more = np.where(bonus, printed, printed - 1)
        known &= np.abs(np.abs(printed - total) - np.abs(printed - 1 - total)) > _EDGE
        least, most = np.maximum(least, more - 0.005 - 1e-6), np.minimum(most, more + 0.005 + 1e-6)
    known &= (accepted > 0) & (least > _EDGE) & (most - least > _EDGE)
    upper, middle, lower = accepted / most, accepted / total, accepted / least
    for limit in (upper, middle + 0.5, lower):
        known &= np.abs(limit - np.rint(limit)) > _EDGE * np.maximum(1, limit)
    low = np.maximum(np.ceil(upper), np.ceil(drafted / k))
    high = np.minimum(np.floor(lower), drafted)
    known &= (low <= high) & (high - low <= _MOST_CANDIDATES)
    best = np.clip(np.rint(middle), low, high)
    rounds, fewest, last = best.copy(), best.copy(), best.copy()
    for lines in _portions(np.flatnonzero(known), high - low, k):
        tried = low[lines, None] + np.arange(int((high - low)[lines].max()) + 1)
        tried = np.minimum(tried, high[lines, None])
        fits, sure = _fit(rates[lines], tried, accepted[lines, None])
        known[lines] &= fits.any(axis=1) & sure.all(axis=1)
        away = np.where(fits, np.abs(tried - best[lines, None]), np.inf)
        rounds[lines] = np.take_along_axis(tried, away.argmin(axis=1)[:, None], axis=1)[:, 0]
        fewest[lines] = np.where(fits, tried, np.inf).min(axis=1)
        last[lines] = np.where(fits, tried, -np.inf).max(axis=1)
    possible, counts, spread = _positions(rates, rounds, accepted)
    return Counted(known & possible, rounds, fewest, last, counts, spread)


def _portions(lines: "Places", width: "Numbers", k: int) -> "list[Places]":
    """Lines with about as many candidates, so few that their table stays small."""
    if not len(lines):
        return []
    order = lines[np.argsort(width[lines], kind="stable")]
    room = np.maximum(1, _AT_ONCE // ((width[order] + 1) * k)).astype(int)
    result, start = [], 0
    while start < len(order):
        end = start + int(room[min(start + int(room[start]), len(order)) - 1])
        result.append(order[start:end])
        start = end
    return result


def _fit(rates: "Numbers", rounds: "Numbers", accepted: "Numbers") -> "tuple[Flags, Flags]":
    """Whether whole counts give these rates in so many rounds, and whether that is sure: (lines, candidates) each."""
    lows, highs = _limits(rates[:, None, :], rounds[:, :, None])
    off = np.abs(rates.sum(axis=1)[:, None] - accepted / rounds) - _HALF * rates.shape[1]
    fits = (lows <= highs).all(axis=2) & (lows.sum(axis=2) <= accepted) & (highs.sum(axis=2) >= accepted) & (off <= 0)
    return fits, np.abs(off) > _EDGE


def _limits(rates: "Numbers", rounds: "Numbers") -> "tuple[Numbers, Numbers]":
    lows = np.maximum(0, np.ceil((rates - _HALF) * rounds))
    return lows, np.minimum(rounds, np.floor((rates + _HALF) * rounds))


def _positions(rates: "Numbers", rounds: "Numbers", accepted: "Numbers") -> "tuple[Flags, Numbers, Numbers]":
    """`rounding.counts_of` for each line: whether there are counts, the counts, and by how much they may be off."""
    lows, highs = _limits(rates, rounds[:, None])
    good = (rates[:, 0] <= 1) & (rates[:, 1:] <= rates[:, :-1]).all(axis=1) & (lows <= highs).all(axis=1)
    good &= _below(np.abs(rates.sum(axis=1) - accepted / rounds), _HALF * rates.shape[1])
    counts = np.clip(np.rint(rates * rounds[:, None]), lows, highs)
    missing = accepted - counts.sum(axis=1)
    if (moved := missing.nonzero()[0]).size:
        counts[moved], missing[moved] = _moved(counts[moved], missing[moved], lows[moved], highs[moved])
    return good & (missing == 0), counts, (highs - lows).max(axis=1)


def _moved(counts: "Numbers", missing: "Numbers", lows: "Numbers", highs: "Numbers") -> "tuple[Numbers, Numbers]":
    """Counts moved inside what the digits allow until nothing is missing, and what is missing still."""
    k = counts.shape[1]
    for i in range(k):
        move = np.clip(missing, 0, highs[:, i] - counts[:, i])
        counts[:, i] += move
        missing -= move
    for i in reversed(range(k)):
        move = np.clip(missing, lows[:, i] - counts[:, i], 0)
        counts[:, i] += move
        missing -= move
    return counts, missing


def _below(values: "Numbers", limit: float) -> "Flags":
    """Whether they are surely below the limit."""
    found: Flags = values < limit - _EDGE
    return found
