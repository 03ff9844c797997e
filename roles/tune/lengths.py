"""How many tokens a round gives at any k: per-position rates, carried from the k that were measured to the others."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from roles.tune.points import Point

Floats = npt.NDArray[np.float64]

_STEADY = 0.6
"""Share of one position's acceptances that the next one keeps, where nothing better is known."""


def curve(point: Point, other: Floats | None = None) -> Floats | None:
    """All k rates of a point, unconditional and non-increasing; None when nothing says anything about acceptance.

    What is missing is filled: a tail so that the counted length is met, or one that goes on falling as it did; without
    any rates those of `other` (a curve at another k) or a steady fall, bent until the counted length is met.
    """
    k, length = point.speculative_tokens, point.length
    known = np.minimum.accumulate(np.array(point.per_position_rates, dtype=float))
    if len(known) == k:
        return known
    missing = k - len(known)
    if len(known):
        if length is None:
            return np.concatenate([known, known[-1] * _fall(known) ** np.arange(1, missing + 1)])
        rest = min(max(0.0, length - 1 - float(known.sum())), missing * float(known[-1]))
        return np.concatenate([known, _tail(float(known[-1]), missing, rest)])
    if length is None:
        return None
    shape = other[:k] if other is not None and len(other) >= k else _STEADY ** np.arange(1, k + 1)
    # Not all that a long block never gets to is lost to a short one too: the fall is not taken for steeper than half.
    gentle = [float(shape[0])]
    for rate in shape[1:]:
        gentle.append(max(float(rate), gentle[-1] / 2))
    return _bent(np.clip(gentle, 1e-9, 1 - 1e-9), length - 1)


BLOCK_EFFECT = (0.0, 0.4)
"""How much better a block drafter's positions get when the block is cut to almost nothing: a rate r becomes
r ** (1 - effect * (1 - k / K)). From 15 to 5 tokens 0.2 to 0.3 on the field report's GPUs, 0.1 to 0.3 on an H200."""


def rates_at(k: int, curves: Sequence[Floats], effect: Floats) -> Floats:
    """The rates at any k up to the longest curve, (draws, k); curves are by rising k, (draws, k_j), effect (draws,).

    Between two measured k each position is interpolated. Positions that only longer curves have are scaled by what the
    last common one became. Below the smallest measured k its first positions get better by `effect`.
    """
    sizes = [curve.shape[-1] for curve in curves]
    if k <= sizes[0]:
        return np.asarray(curves[0][:, :k] ** (1 - effect * (1 - k / sizes[0]))[:, None])
    for (low, short), (high, long) in pairwise(zip(sizes, curves, strict=True)):
        if k <= high:
            weight = (k - low) / (high - low)
            early = (1 - weight) * short + weight * long[:, :low]
            scale = early[:, -1:] / np.maximum(long[:, low - 1 : low], 1e-9)
            late = np.minimum(long[:, low:k] * scale, early[:, -1:])
            return np.concatenate([early, late], axis=1)
    raise ValueError(f"no curve is as long as {k}")


def draw(rates: Floats, rounds: float, draws: int, rng: np.random.Generator) -> Floats:
    """(draws, k) curves that might have been counted in so many rounds. Acceptance nests: a round is one draw."""
    shares = -np.diff(np.concatenate([[1.0], rates, [0.0]]))
    shares = np.clip(shares, 0, None) / np.clip(shares, 0, None).sum()
    counts = rng.multinomial(max(1, round(rounds)), shares, size=draws)
    reached = counts[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    return np.asarray(reached / max(1, round(rounds)), dtype=np.float64)


def _fall(rates: Floats) -> float:
    """What one position keeps of the one before, by the last two of them."""
    if len(rates) < 2 or rates[-2] <= 0:
        return _STEADY
    return float(min(rates[-1] / rates[-2], 0.95))


def _tail(first: float, count: int, total: float) -> Floats:
    """`count` rates that fall geometrically from `first` and add up to `total` (at most count * first)."""
    steps = np.arange(1, count + 1)

    def excess(kept: float) -> float:
        return float((first * kept**steps).sum()) - total

    kept = 0.0 if excess(0.0) >= 0 else 1.0 if excess(1.0) <= 0 else float(brentq(excess, 0.0, 1.0))
    return np.asarray(first * kept**steps, dtype=np.float64)


def _bent(shape: Floats, total: float) -> Floats:
    """A curve raised to the power at which it adds up to `total`: stays within 0-1 and keeps falling."""
    total = min(max(total, 1e-6), len(shape) * (1 - 1e-6))

    def excess(exponent: float) -> float:
        return float((shape ** np.exp(exponent)).sum()) - total

    return np.asarray(shape ** np.exp(brentq(excess, -30.0, 30.0)) if excess(-30) > 0 > excess(30) else shape)
