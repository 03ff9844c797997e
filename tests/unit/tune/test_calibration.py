"""Whether intervals hold what they promise: nine of ten true speeds."""

from collections import Counter
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest

from roles.tune.points import Point
from roles.tune.predict import NOISE, predict
from tests.unit.tune.machine import LARGEST, accepted_counts

Floats = npt.NDArray[np.float64]

_MACHINES = 150
_ROUNDS_A_PROMPT = 40
_SPREAD = 0.15
"""Standard deviation of the logarithm of a prompt's difficulty, as in the practice ground."""
_DIFFICULTIES = np.exp([NormalDist(0, _SPREAD).inv_cdf((i + 0.5) / 40) for i in range(40)])


@dataclass(frozen=True)
class World:
    """Within what the model calls unknown: how much better a short block gets, and how the time bends below `low`."""

    low: int
    at_low: Floats
    at_largest: Floats
    effect: float
    bend: float
    a_ms: float
    b_ms: float

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "World":
        low = int(rng.integers(2, 9))
        rates = rng.uniform(0.2, 0.95) * np.cumprod([1, *rng.uniform(0.5, 0.98, LARGEST - 1)])
        a_ms = rng.uniform(10, 80)
        return cls(
            low=low,
            at_low=rates[:low] ** (1 - rng.uniform(0, 0.4) * (1 - low / LARGEST)),
            at_largest=rates,
            effect=rng.uniform(0, 0.4),
            bend=rng.uniform(0, 1),
            a_ms=a_ms,
            b_ms=a_ms * float(np.exp(rng.uniform(np.log(0.003), np.log(0.1)))),
        )

    def rates(self, k: int) -> Floats:
        if k <= self.low:
            return np.asarray(self.at_low[:k] ** (1 - self.effect * (1 - k / self.low)))
        weight = (k - self.low) / (LARGEST - self.low)
        early = (1 - weight) * self.at_low + weight * self.at_largest[: self.low]
        late = self.at_largest[self.low : k] * early[-1] / self.at_largest[self.low - 1]
        return np.concatenate([early, np.minimum(late, early[-1])])

    def round_ms(self, k: int) -> float:
        bend = self.bend * self.b_ms * max(0, self.low - k)
        return self.a_ms + self.b_ms * max(k, self.low) - bend

    def speed(self, k: int) -> float:
        """tok/s over all prompts that there are."""
        accepted = (self.rates(k)[None, :] ** _DIFFICULTIES[:, None]).sum(axis=1).mean()
        return 1e3 * (1 + float(accepted)) / self.round_ms(k)

    def measure(self, k: int, prompts: int, rng: np.random.Generator) -> Point:
        """A run over a few prompts, each easier or harder than the next."""
        difficulties = np.exp(rng.normal(0, _SPREAD, prompts))
        counts = sum(accepted_counts(self.rates(k) ** one, _ROUNDS_A_PROMPT, rng) for one in difficulties)
        rounds = prompts * _ROUNDS_A_PROMPT
        took_ms = self.round_ms(k) * float(np.exp(rng.normal(0, NOISE)))
        total = int(np.sum(counts))
        return Point(
            speculative_tokens=k,
            tok_s=1e3 * (1 + total / rounds) / took_ms,
            rounds=rounds,
            accepted=total,
            drafted=rounds * k,
            per_position_rates=tuple(np.divide(counts, rounds).tolist()),
            concurrency=1,
        )


@pytest.fixture(scope="module")
def coverage() -> dict[str, float]:
    """How often the interval held the truth: at measured k, between two of them, below both."""
    rng = np.random.default_rng(3)
    held: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for _ in range(_MACHINES):
        world, prompts = World.drawn(rng), int(rng.integers(8, 100))
        found = predict([world.measure(k, prompts, rng) for k in (world.low, LARGEST)], 1)
        for k in range(1, LARGEST + 1):
            place = "measured" if k in {world.low, LARGEST} else "below" if k < world.low else "between"
            speed = found.at(k)
            held[place] += speed.low <= world.speed(k) <= speed.high
            asked[place] += 1
    return {place: held[place] / asked[place] for place in asked}


@pytest.mark.parametrize("place", ["measured", "between", "below"])
def test_nine_of_ten_true_speeds_lie_in_their_interval(coverage: dict[str, float], place: str) -> None:
    assert 0.85 <= coverage[place] <= 0.95, coverage
