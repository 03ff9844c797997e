"""What a prediction does not know, and what it found beside the number: sentences for people."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import sqrt

from roles.tune.predict import Prediction

_DEPENDS = 0.02
_FEW_ROUNDS = 200


def notes(prediction: Prediction) -> Iterator[str]:
    """Everything worth knowing about one concurrency's prediction, the most important first."""
    yield from _off(prediction)
    yield from _choice(prediction)
    yield from _dependence(prediction)
    yield from _freedom(prediction)
    yield from _data(prediction)


def changing_optimum(predictions: Sequence[Prediction]) -> Iterator[str]:
    """Where the best k is not the same at all concurrencies."""
    known = sorted((p for p in predictions if p.concurrency is not None), key=lambda p: p.concurrency or 0)
    for fewer, more in pairwise(known):
        if not set(fewer.plateau) & set(more.plateau):
            lost = 1 - more.at(min(fewer.best, len(more.speeds) - 1)).tok_s / more.at(more.best).tok_s
            yield (
                f"the optimum changes with concurrency: {_k(fewer.best)} at {fewer.concurrency}, {_k(more.best)} at "
                f"{more.concurrency}, where {_k(fewer.best)} would lose {100 * lost:.0f} %"
            )


def _off(prediction: Prediction) -> Iterator[str]:
    off = prediction.at(0)
    best_speculating = max(prediction.speeds[1:], key=lambda speed: speed.tok_s)
    if prediction.best == 0:
        measured = "measured" if off.measured else "predicted"
        yield (
            f"speculation should be off: {off.tok_s:.1f} tok/s without it ({measured}), at most "
            f"{best_speculating.tok_s:.1f} with it (k={best_speculating.speculative_tokens})"
        )
    elif not off.measured and off.high > prediction.at(prediction.best).tok_s:
        yield (
            f"without speculation it may be as fast (up to {off.high:.1f} tok/s, a guess): measure it with "
            "speculative tokens 0"
        )


def _choice(prediction: Prediction) -> Iterator[str]:
    fastest = max(prediction.speeds, key=lambda speed: speed.tok_s)
    best = prediction.at(prediction.best)
    if prediction.best and fastest.speculative_tokens != prediction.best:
        yield (
            f"{prediction.best} is the smallest of the plateau {_range(prediction.plateau)}: "
            f"{100 * (1 - best.tok_s / fastest.tok_s):.1f} % below the highest prediction "
            f"(k={fastest.speculative_tokens}), which is less than chance; fewer tokens leave more room for others"
        )
    if not best.measured:
        yield f"k={prediction.best} is predicted, not measured: confirm it by a run"
    largest = len(prediction.speeds) - 1
    if prediction.best == largest and prediction.rates[largest][-1] > 0.1:
        yield f"k={largest}, the largest that was measured, is the best: larger ones are not known"


def _dependence(prediction: Prediction) -> Iterator[str]:
    sizes = sorted(prediction.rates)
    if len(sizes) < 2:
        return
    small, large = sizes[0], sizes[-1]
    with_small = 1 + sum(prediction.rates[small])
    with_large = 1 + sum(prediction.rates[large][:small])
    change = with_small / with_large - 1
    if abs(change) < _DEPENDS:
        return
    error = sqrt(_variance(prediction, small) + _variance(prediction, large)) / with_large
    chance = ", which may be chance" if error and abs(change) < 2 * error else ""
    yield (
        f"positions depend on k here: the first {small} give {with_small:.2f} tokens a round at k={small} and "
        f"{with_large:.2f} at k={large} ({100 * change:+.0f} %{chance}); a block drafter sees another block at "
        "every k, so predictions away from the measured k are less sure"
    )


def _variance(prediction: Prediction, k: int) -> float:
    """Of the mean accepted tokens a round. Acceptance nests: Var = sum (2i+1) P_i - (sum P_i)^2."""
    rounds = sum(point.counted_rounds or 0 for point in prediction.points if point.speculative_tokens == k)
    rates = prediction.rates[k]
    second = sum((2 * i + 1) * rate for i, rate in enumerate(rates))
    return max(0.0, second - sum(rates) ** 2) / (rounds or _FEW_ROUNDS)


def _freedom(prediction: Prediction) -> Iterator[str]:
    timed = sorted({point.speculative_tokens for point in prediction.points if point.tok_s is not None})
    speculating = [k for k in timed if k]
    if len(speculating) == 1 and timed[0] == 0:
        yield (
            "the drafter's own cost was not measured (the other point has no drafter): it is taken as 20 % of a step; "
            f"a point at another k than {speculating[0]} says more"
        )
    elif len(speculating) == 1:
        yield "one point says nothing about the cost of a token: a usual one is assumed; measure another k or 0"
    elif len(speculating) == 2:
        yield "two points leave no degrees of freedom: the cost line goes through both, and nothing tests it"
    if prediction.b_s < 0:
        yield "a longer round took less time than a shorter one: noise is larger than the cost of a token"
    if prediction.noise is None:
        yield "no k was measured twice: 1.5 % of noise from run to run is assumed"


def _data(prediction: Prediction) -> Iterator[str]:
    for k, block in sorted({(p.speculative_tokens, p.block_size) for p in prediction.points if p.block_size}):
        if k >= block:
            yield f"k={k} is above what the drafter was trained for: block_size {block} gives {block - 1} tokens"
    for k in sorted(prediction.rates, reverse=True):
        points = [point for point in prediction.points if point.speculative_tokens == k]
        rounds = sum(point.counted_rounds or 0 for point in points)
        if not rounds:
            yield f"k={k}: rounds are not given: {_FEW_ROUNDS} are assumed"
        elif rounds < _FEW_ROUNDS:
            yield f"k={k}: {rounds} rounds are few, the curve is uncertain"
        given = max(len(point.per_position_rates) for point in points)
        if given < k:
            known = f"positions {given}-{k - 1} are" if given else "its positions are"
            yield f"k={k}: {known} not given, and filled in from what is known"


def _k(k: int) -> str:
    return f"k={k}" if k else "no speculation"


def _range(plateau: Sequence[int]) -> str:
    return f"{plateau[0]}-{plateau[-1]}" if len(plateau) > 1 else str(plateau[0])
