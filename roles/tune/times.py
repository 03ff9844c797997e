"""How long a round takes at any k: through the measured ones, and with measured doubt beyond them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from roles.tune.lengths import BLOCK_EFFECT, Floats

DRAFTER_SHARE = (0.0, 0.4)
"""What drafting itself adds to a step without speculation; 6 % on the field report's GPUs, 12 to 38 % on an H200."""
_GUESSED_SLOPE = (0.005, 0.09)
"""b / a where only one k was measured: 0.007 on an H200 with one stream, 0.045 on the field report's GPUs."""
_LEAST = 0.2
_BELOW = (0.0, 1.0)
_ABOVE = (1.0, 2.0)
"""Factors on the slope beyond the measured k. A few more tokens cost nothing while a step waits for memory, and much
once it waits for arithmetic, so the time bends upwards: a line through two k is too cheap on both sides of them."""


@dataclass(frozen=True)
class Unknowns:
    """What no measurement says, as (draws,) numbers; `middle` has one draw of the middle of each range.

    drafter: a / T(0) - 1; slope: b / a; below, above: factors on the slope; effect: lengths.BLOCK_EFFECT
    """

    drafter: Floats
    slope: Floats
    below: Floats
    above: Floats
    effect: Floats

    @classmethod
    def middle(cls) -> "Unknowns":
        """The best guess."""
        middles = (
            sum(DRAFTER_SHARE) / 2,
            np.sqrt(np.prod(_GUESSED_SLOPE)),
            sum(_BELOW) / 2,
            sum(_ABOVE) / 2,
            sum(BLOCK_EFFECT) / 2,
        )
        return cls(*(np.array([value]) for value in middles))

    @classmethod
    def drawn(cls, draws: int, rng: np.random.Generator) -> "Unknowns":
        """Evenly from each range."""
        return cls(
            rng.uniform(*DRAFTER_SHARE, draws),
            np.exp(rng.uniform(log(_GUESSED_SLOPE[0]), log(_GUESSED_SLOPE[1]), draws)),
            rng.uniform(*_BELOW, draws),
            rng.uniform(*_ABOVE, draws),
            rng.uniform(*BLOCK_EFFECT, draws),
        )


def times(ks: Sequence[int], sizes: Sequence[int], measured: Floats, plain: Floats | None, unknown: Unknowns) -> Floats:
    """Seconds a round, (draws, len(ks)); ks are from 1.

    sizes:    the k that were measured, rising, from 1; measured: their seconds a round, (draws, len(sizes))
    plain:    seconds a step without speculation, (draws,); None when it was not measured
    """
    slope = _slopes(sizes, measured)
    below, above = slope[0], slope[-1]
    if below is None:
        first = measured[:, 0]
        base = (
            first / (1 + unknown.slope * sizes[0])
            if plain is None
            else np.minimum(plain * (1 + unknown.drafter), first)
        )
        below = (first - base) / sizes[0]
        above, factor = below * unknown.above, np.ones_like(unknown.below)
    elif plain is None:
        above, factor = (above if above is not None else below) * unknown.above, unknown.below
    else:
        # The drafter's share of the step without speculation is a guess, but the time bends one way only.
        base = np.clip(plain * (1 + unknown.drafter), measured[:, 0] - below * sizes[0], measured[:, 0])
        below, factor = (measured[:, 0] - base) / sizes[0], np.ones_like(unknown.below)
        above = (above if above is not None else below) * unknown.above
    columns = []
    for k in ks:
        if k < sizes[0]:
            columns.append(measured[:, 0] - factor * below * (sizes[0] - k))
        elif k > sizes[-1]:
            columns.append(measured[:, -1] + above * (k - sizes[-1]))
        else:
            after = next(i for i, size in enumerate(sizes) if size >= k)
            before = max(0, after - 1)
            weight = (k - sizes[before]) / max(1, sizes[after] - sizes[before])
            columns.append((1 - weight) * measured[:, before] + weight * measured[:, after])
    # Contradicting points can make a line that falls through zero.
    return np.maximum(np.stack(columns, axis=1), _LEAST * measured[:, :1])


def intercept(sizes: Sequence[int], measured: Floats, plain: Floats | None, unknown: Unknowns) -> tuple[Floats, Floats]:
    """a and b of T(k) = a + b*k in seconds, (draws,) each: the least squares line through what was measured."""
    if len(sizes) > 1:
        b, a = np.polyfit(sizes, measured.T, 1)
        return a, b
    first = measured[:, 0]
    a = first / (1 + unknown.slope * sizes[0]) if plain is None else np.minimum(plain * (1 + unknown.drafter), first)
    return a, (first - a) / sizes[0]


def _slopes(sizes: Sequence[int], measured: Floats) -> tuple[Floats | None, Floats | None]:
    """Seconds a further token between the two lowest and the two highest measured k; None with one. Never negative."""
    if len(sizes) < 2:
        return None, None
    steps = np.clip(np.diff(measured, axis=1) / np.diff(sizes), 0, None)
    return steps[:, 0], steps[:, -1]
