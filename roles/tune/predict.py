"""From measured points at one concurrency to the speed at every k, and to those that are as good as the best."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inventory.errors import UsageError
from roles.tune.lengths import Floats, curve, draw, rates_at
from roles.tune.points import Point
from roles.tune.times import Unknowns, intercept, times

NOISE = 0.015
"""Relative standard deviation of a run's tok/s from one run to the next, where no k was measured twice."""
FREE = 0.01
"""A k is as good as the best when less than this share of the speed is lost with it, on average ..."""
HARMLESS = 0.015
"""... or when chance may decide between them and no more than this is lost."""
BY_CHANCE = 0.05
_ASSUMED_ROUNDS = 200
_DESIGN_EFFECT = 2.0  # rounds of one prompt are alike
_DRAWS = 2000
_SEED = 20260102


@dataclass(frozen=True)
class Speed:
    """What to expect at one k: tok/s of all streams together, with bounds that hold it 9 times in 10."""

    speculative_tokens: int
    tok_s: float
    low: float
    high: float
    measured: bool


@dataclass(frozen=True)
class Prediction:
    """The answer for one concurrency (None: not given).

    best:    the smallest k of the plateau; 0 is without speculation
    plateau: the k that cannot be told apart from the fastest, or lose nothing worth naming against it
    round_s: seconds of a round at k = 0, 1, ...; at 0 of a step without speculation
    gains:   for k = 0, 1, ...: what measuring it is worth, as the share of speed that it may win over the best that was
             measured, on average over all that may be true; 0 for what was measured
    as_fast: for k = 0, 1, ...: how probable it is that it is at least as fast as the best
    a_s, b_s: of the line a + b * k through the measured rounds
    noise:   relative, of one run; None when it is assumed
    rates:   acceptance per position at each measured k
    """

    concurrency: int | None
    best: int
    plateau: tuple[int, ...]
    speeds: tuple[Speed, ...]
    round_s: tuple[float, ...]
    gains: tuple[float, ...]
    as_fast: tuple[float, ...]
    a_s: float
    b_s: float
    noise: float | None
    points: tuple[Point, ...]
    rates: Mapping[int, tuple[float, ...]]

    def at(self, k: int) -> Speed:
        """What to expect at one k of the curve."""
        return self.speeds[k]

    def differs(self, k: int) -> bool:
        """Whether this k is slower than the best by more than chance, and more than a trifle."""
        return k < len(self.speeds) and self.loss(k) > HARMLESS and self.as_fast[k] < BY_CHANCE

    def loss(self, k: int) -> float:
        """Share of the best one's speed that is lost at this k; at one beyond the curve what is lost at its end."""
        return 1 - self.at(min(k, len(self.speeds) - 1)).tok_s / self.at(self.best).tok_s


@dataclass(frozen=True)
class _Measured:
    """What the points of one concurrency say: curves and speeds by rising k, the speed without speculation."""

    sizes: tuple[int, ...]
    timed: tuple[int, ...]
    curves: Mapping[int, Floats]
    rounds: Mapping[int, float]
    speed: Mapping[int, float]
    noise: float | None


def predict(points: Sequence[Point], concurrency: int | None = None) -> Prediction:
    """Predict all k from 0 to the largest that was measured. Raises UsageError when the points do not allow it."""
    found = _measured(points)
    streams = concurrency or 1
    rng = np.random.default_rng(_SEED)
    most = 1 + found.sizes[-1]
    middle = _rounds(
        found, streams, {k: found.curves[k][None, :] for k in found.sizes}, np.ones((1, most)), Unknowns.middle()
    )
    curves = {k: draw(found.curves[k], found.rounds[k] / _DESIGN_EFFECT, _DRAWS, rng) for k in found.sizes}
    noise = np.exp(rng.normal(0, found.noise or NOISE, (_DRAWS, most)))
    drawn = _rounds(found, streams, curves, noise, Unknowns.drawn(_DRAWS, rng))
    low, high = np.percentile(drawn.speeds, [5, 95], axis=0)
    expected = middle.speeds[0]
    speeds = tuple(
        Speed(
            k,
            float(expected[k]),
            float(min(low[k], expected[k])),
            float(max(high[k], expected[k])),
            k in found.speed,
        )
        for k in range(len(expected))
    )
    a, b = _line(found, streams)
    plateau = _plateau(expected, drawn, found, may_be_off=0 in found.speed or _surely_off(drawn, line_holds=a > 0))
    return Prediction(
        concurrency=concurrency,
        best=plateau[0],
        plateau=plateau,
        speeds=speeds,
        round_s=tuple(map(float, middle.seconds[0])),
        gains=_gains(expected, drawn.speeds, found),
        as_fast=tuple(map(float, (drawn.speeds >= drawn.speeds[:, [plateau[0]]]).mean(axis=0))),
        a_s=a,
        b_s=b,
        noise=found.noise,
        points=tuple(points),
        rates={k: tuple(map(float, found.curves[k])) for k in found.sizes},
    )


@dataclass(frozen=True)
class _Rounds:
    """Tokens and seconds a round at k = 0, 1, ..., (draws, 1 + largest k) each."""

    streams: int
    lengths: Floats
    seconds: Floats

    @property
    def speeds(self) -> Floats:
        """tok/s of all streams."""
        return self.streams * self.lengths / self.seconds


def _plateau(expected: Floats, drawn: _Rounds, found: _Measured, *, may_be_off: bool) -> tuple[int, ...]:
    """The k around the fastest that are as good. What is only guessed does not widen it.

    Below the smallest k that was measured a k has to be clearly faster than that one, and then it stands for itself.
    """
    least_k = 0 if may_be_off else 1  # speculation is not given up for a guess
    fastest, lowest = least_k + int(np.argmax(expected[least_k:])), found.timed[0]
    if 0 < fastest < lowest and _as_good(drawn.speeds, fastest)[lowest]:
        fastest = lowest
    as_good = _as_good(drawn.speeds, fastest)
    least = most = fastest
    while least > lowest and as_good[least - 1]:
        least -= 1
    while most + 1 < len(expected) and as_good[most + 1]:
        most += 1
    off = (0,) if 0 in found.speed and fastest and as_good[0] else ()
    return (*off, *range(least, most + 1))


def _surely_off(drawn: _Rounds, *, line_holds: bool) -> bool:
    """Whether a speed without speculation that nobody measured is higher than any with it, whatever the unknowns are.

    A step without speculation takes at most as long as the shortest round. The guess of how much less counts only where
    the cost line is one.
    """
    at_least = drawn.streams / drawn.seconds[:, 1]
    best = drawn.speeds[:, 1:].max(axis=1)
    beaten = (best <= (1 + FREE) * at_least) | (line_holds & (best < drawn.speeds[:, 0]))
    return bool(beaten.mean() >= 1 - BY_CHANCE)


def _gains(expected: Floats, drawn: Floats, found: _Measured) -> tuple[float, ...]:
    """Expected improvement, as Bayesian optimisation has it (Jones, Schonlau, Welch 1998), relative."""
    known = max(found.speed, key=lambda k: expected[k])
    better = np.maximum(drawn / drawn[:, [known]] - 1, 0).mean(axis=0)
    return tuple(0.0 if k in found.speed else float(gain) for k, gain in enumerate(better))


def _as_good(drawn: Floats, fastest: int) -> npt.NDArray[np.bool_]:
    """For each k whether nothing is lost with it against the fastest, or too little to tell from chance."""
    loss = (1 - drawn / drawn[:, [fastest]]).mean(axis=0)
    by_chance = (drawn >= drawn[:, [fastest]]).mean(axis=0) >= BY_CHANCE
    return np.asarray((loss <= FREE) | (by_chance & (loss <= HARMLESS)))


def _rounds(found: _Measured, streams: int, curves: Mapping[int, Floats], noise: Floats, unknown: Unknowns) -> _Rounds:
    by_size = [curves[k] for k in found.sizes]
    ks = range(1, found.sizes[-1] + 1)
    lengths = np.stack([1 + rates_at(k, by_size, unknown.effect).sum(axis=1) for k in ks], axis=1)
    # The clock of a run belongs to the tokens that were counted in it, not to those that it might have got.
    counted = {k: 1 + float(found.curves[k].sum()) for k in found.timed}
    measured = np.stack([streams * counted[k] / (found.speed[k] * noise[:, k]) for k in found.timed], axis=1)
    plain = streams / (found.speed[0] * noise[:, 0]) if 0 in found.speed else None
    seconds = times(ks, found.timed, measured, plain, unknown)
    if plain is None:
        a, _ = intercept(found.timed, measured, None, unknown)
        # Without a drafter a step is faster than a by what drafting costs.
        plain = np.maximum(a, 0.2 * measured[:, 0]) / (1 + unknown.drafter)
    return _Rounds(streams, np.column_stack([np.ones(len(lengths)), lengths]), np.column_stack([plain, seconds]))


def _line(found: _Measured, streams: int) -> tuple[float, float]:
    lengths = {k: 1 + float(found.curves[k].sum()) for k in found.timed}
    measured = np.array([[streams * lengths[k] / found.speed[k] for k in found.timed]])
    plain = np.array([streams / found.speed[0]]) if 0 in found.speed else None
    a, b = intercept(found.timed, measured, plain, Unknowns.middle())
    return float(a[0]), float(b[0])


def _measured(points: Sequence[Point]) -> _Measured:
    by_size: defaultdict[int, list[Point]] = defaultdict(list)
    for point in sorted(points, key=lambda point: -point.speculative_tokens):
        by_size[point.speculative_tokens].append(point)
    curves: dict[int, Floats] = {}
    for needs_shape in (False, True):  # those that know their positions lend their shape to those that do not
        longest = max(curves.values(), key=len, default=None)
        for k, group in by_size.items():
            if k and k not in curves and (needs_shape or any(point.per_position_rates for point in group)):
                known = [(found, point) for point in group if (found := curve(point, longest)) is not None]
                if not known and longest is not None and len(longest) >= k:
                    curves[k] = longest[:k]  # it was timed only: it accepts what the longer one's first positions do
                elif known:
                    weights = [point.counted_rounds or _ASSUMED_ROUNDS for _, point in known]
                    curves[k] = np.average([found for found, _ in known], axis=0, weights=weights)
    if not curves:
        raise UsageError(
            "no point says how many tokens were accepted",
            tries=["per_position_rates, or rounds and accepted, of at least one point that speculates"],
        )
    speeds = {
        k: [point.tok_s for point in group if point.tok_s is not None]
        for k, group in by_size.items()
        if k == 0 or k in curves
    }
    speed = {k: float(np.mean(values)) for k, values in speeds.items() if values}
    timed = tuple(sorted(k for k in speed if k))
    if not timed:
        raise UsageError("no point that speculates has tok_s, or says what it accepted")
    sizes = tuple(sorted(curves))
    rounds = {k: float(sum(point.counted_rounds or 0 for point in by_size[k]) or _ASSUMED_ROUNDS) for k in sizes}
    return _Measured(sizes, timed, curves, rounds, speed, _noise([values for values in speeds.values() if values]))


def _noise(speeds: Sequence[Sequence[float]]) -> float | None:
    """Relative spread of runs at the same k; None when none was repeated. Two runs say little: never under 0.3 %."""
    squares = [((value / np.mean(group) - 1) ** 2) for group in speeds if len(group) > 1 for value in group]
    freedom = sum(len(group) - 1 for group in speeds)
    return max(0.003, float(np.sqrt(sum(squares) / freedom))) if freedom else None
