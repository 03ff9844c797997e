"""A made-up machine with a drafter: what a run on it measures, and what is really best on it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roles.tune.points import Point

LARGEST = 15


@dataclass(frozen=True)
class Machine:
    """Rounds take a + b*k for one stream, and more for each further one; plain_ms is a step without speculation.

    rates:   unconditional acceptance per position at k=15; each r becomes r ** (1 - effect * (1 - k / 15)) at k
    further_ms: of a round with n streams, for each beyond the first: (without tokens, for each token of the verify)
    """

    rates: Sequence[float]
    a_ms: float
    b_ms: float
    plain_ms: float
    effect: float = 0.0
    further_ms: tuple[float, float] = (0.0, 0.0)

    def rates_at(self, k: int) -> list[float]:
        """The positions that k tokens have."""
        return [rate ** (1 - self.effect * (1 - k / LARGEST)) for rate in self.rates[:k]]

    def round_ms(self, k: int, streams: int = 1) -> float:
        """How long a round takes."""
        alone = self.a_ms + self.b_ms * k if k else self.plain_ms
        step, token = self.further_ms
        return alone + (streams - 1) * (step + token * (k + 1))

    def speed(self, k: int, streams: int = 1) -> float:
        """tok/s of all streams, without any noise."""
        return 1e3 * streams * (1 + sum(self.rates_at(k))) / self.round_ms(k, streams)

    def optimum(self, streams: int = 1) -> float:
        """The highest speed that there is on it."""
        return max(self.speed(k, streams) for k in range(LARGEST + 1))

    def measure(
        self, k: int, rng: np.random.Generator, *, rounds: int = 2000, streams: int = 1, noise: float = 0.01
    ) -> Point:
        """A run of so many rounds: counts are drawn, the time of a round is off by `noise` (relative)."""
        counts = accepted_counts(self.rates_at(k), rounds, rng)
        length = 1 + sum(counts) / rounds
        took_ms = self.round_ms(k, streams) * float(np.exp(rng.normal(0, noise)))
        return Point(
            speculative_tokens=k,
            tok_s=1e3 * streams * length / took_ms,
            rounds=rounds if k else None,
            accepted=int(sum(counts)) if k else None,
            drafted=rounds * k if k else None,
            per_position_rates=tuple(float(count) / rounds for count in counts),
            concurrency=streams,
        )


FALLING = [0.72 * 0.65**i for i in range(LARGEST)]
"""As the field report's drafter."""
H200_LIKE = Machine(FALLING, a_ms=5.5, b_ms=0.004, plain_ms=5.2, further_ms=(0.001, 0.012))
"""One stream does not mind fifteen tokens, thirty-two of them do."""


def accepted_counts(rates: Sequence[float], rounds: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """How often each position was accepted: a round accepts a run of positions from the first."""
    depth = (rng.random(rounds)[:, None] < np.array(rates)[None, :]).sum(axis=1)
    return np.array([(depth > position).sum() for position in range(len(rates))], dtype=np.int64)
