"""How many drafted tokens each round of one completion gets accepted: seeded by prompt and round, so it repeats."""

import hashlib
from bisect import bisect_left
from collections.abc import Sequence
from statistics import NormalDist

_SPREAD = 0.15
"""Prompts differ: the standard deviation of the logarithm of a prompt's difficulty."""

_PER_TEMPERATURE = 0.15
"""Sampling accepts less: what a temperature of 1 adds to the difficulty."""


class Rounds:
    """The rounds of one completion.

    rates: unconditional acceptance per position over all prompts, non-increasing
    key:   what the draws depend on: seed, prompt, and a number of the request when it samples
    """

    def __init__(self, rates: Sequence[float], key: str, temperature: float) -> None:
        self._hash = hashlib.blake2b(key.encode(), digest_size=8)
        spread = NormalDist(0, _SPREAD).inv_cdf(self._draw("difficulty"))
        difficulty = 2.718281828**spread * (1 + _PER_TEMPERATURE * temperature)
        # The rates fall, so bisect on their negatives finds how many of them are above a draw.
        self._negative_rates = [-(rate**difficulty) if rate else 0.0 for rate in rates]

    def accepted(self, number: int) -> int:
        """How many tokens round `number` gets accepted: one draw for all positions keeps them nested."""
        return bisect_left(self._negative_rates, -self._draw(str(number)))

    def _draw(self, label: str) -> float:
        """Return a number between 0 and 1, both excluded."""
        digest = self._hash.copy()
        digest.update(label.encode())
        return (int.from_bytes(digest.digest(), "big") + 0.5) / 2**64
