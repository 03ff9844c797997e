"""What a prediction does not know, and what it found beside the number: sentences for people."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import sqrt

from roles.tune.points import Point
from roles.tune.predict import FREE, HARMLESS, Prediction

_DEPENDS = 0.02
_FEW_ROUNDS = 200
_CONTRADICTS = 0.2


def notes(prediction: Prediction) -> Iterator[str]:
    """Everything worth knowing about one concurrency's prediction, the most important first."""
    yield from _off(prediction)
    yield from _choice(prediction)
    yield from _dependence(prediction)
    yield from _freedom(prediction)
    yield from _data(prediction)


def contradictions(points: Sequence[Point]) -> Iterator[str]:
    """Runs of the same that came out so differently that something else must have changed between them."""
    speeds: defaultdict[tuple[int, int | None], list[float]] = defaultdict(list)
    for point in points:
        if point.tok_s is not None:
            speeds[(point.speculative_tokens, point.concurrency)].append(point.tok_s)
    for (k, _), found in speeds.items():
        if max(found) > (1 + _CONTRADICTS) * min(found):
            yield (
                f"k={k} was measured at {min(found):.1f} and at {max(found):.1f} tok/s: something else changed between "
                "these runs, and their mean says little"
            )


def changing_optimum(predictions: Sequence[Prediction], best: int) -> Iterator[str]:
    """Where the best k is not the same at all concurrencies, and what the one that was chosen for all loses."""
    known = sorted((p for p in predictions if p.concurrency is not None), key=lambda p: p.concurrency or 0)
    for fewer, more in pairwise(known):
        lost = more.loss(fewer.best)
        if not set(fewer.plateau) & set(more.plateau) and lost > FREE:
            yield (
                f"the optimum changes with concurrency: {_k(fewer.best)} at {fewer.concurrency}, {_k(more.best)} at "
                f"{more.concurrency}, where {_k(fewer.best)} would lose {100 * lost:.0f} %"
            )
    worst = max(predictions, key=lambda prediction: prediction.loss(best))
    if worst.loss(best) > HARMLESS and best not in worst.plateau:
        yield (
            f"no k is good at every concurrency: {_k(best)} loses least, {100 * worst.loss(best):.0f} % at most "
            f"({streams(worst)}); vLLM 0.24 and later take one for each batch size (--per-batch-size)"
        )


def differing_classes(together: Prediction, by_class: Mapping[str, Prediction]) -> Iterator[str]:
    """Classes of prompts that want another k than the best for all, by more than chance and more than a trifle."""
    away = {name: found for name, found in by_class.items() if found.differs(together.best)}
    if away:
        wishes = ", ".join(
            f"{name} {_k(found.best)} ({100 * found.loss(together.best):.0f} % faster there)"
            for name, found in away.items()
        )
        yield f"workload classes want different k: {wishes}; {_k(together.best)} is the best for all of them together"


def streams(prediction: Prediction) -> str:
    """Which concurrency a prediction is for."""
    return f"concurrency {prediction.concurrency or 'unknown'}"


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
    fastest = max(prediction.speeds[0 if prediction.best == 0 else 1 :], key=lambda speed: speed.tok_s)
    best = prediction.at(prediction.best)
    k = fastest.speculative_tokens
    behind = 100 * (1 - best.tok_s / fastest.tok_s)
    if prediction.best and k in prediction.plateau and k != prediction.best:
        yield (
            f"{prediction.best} is the smallest of the plateau {_range(prediction.plateau)}: {behind:.1f} % below the "
            f"highest prediction (k={k}), which is less than chance; fewer tokens leave more room for others"
        )
    elif prediction.best and k != prediction.best:
        yield (
            f"k={k} may be {behind:.1f} % faster than {prediction.best}, but below the smallest k that was measured a "
            "prediction is not sure enough for that"
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
    if prediction.a_s <= 0:
        yield (
            "the points contradict a cost line: it would make a round without drafted tokens take no time; they were "
            "hardly measured under the same conditions"
        )
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
