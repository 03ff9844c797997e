"""When requests come that do not wait for each other's answers: the open loop's schedule."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Arrivals:
    """Requests at random times, `rate` a second on average; the same seed gives the same pattern at every rate.

    burstiness: shape of the gamma distribution that the gaps are drawn from, as in `vllm bench serve`: 1 is a Poisson
                process, less comes in bursts, more is more even, infinite is a fixed gap
    Raises ValueError for a rate or a burstiness that is not above 0.
    """

    rate: float
    burstiness: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not (0 < self.rate < math.inf and self.burstiness > 0):
            raise ValueError("a rate and a burstiness above 0")

    def schedule(self, count: int) -> list[float]:
        """When each of `count` requests is due: seconds after the first, rising.

        The gaps are scaled so that their mean is exactly 1 / rate: which rate was offered is not left to the draw.
        """
        if count < 2:
            return [0.0] * count
        if math.isinf(self.burstiness):
            gaps = np.ones(count - 1)
        else:
            gaps = np.random.default_rng(self.seed).gamma(self.burstiness, 1.0, count - 1)
        due = np.cumsum(gaps) / max(float(gaps.sum()), np.finfo(float).tiny) * (count - 1) / self.rate
        return [0.0, *due.tolist()]

    def __str__(self) -> str:
        if math.isinf(self.burstiness):
            return f"{self.rate:g} requests/s at even gaps"
        drawn = "Poisson" if self.burstiness == 1 else f"burstiness {self.burstiness:g}"
        return f"{self.rate:g} requests/s ({drawn}, seed {self.seed})"
