"""Which number of tokens pays at which batch size, from the measured concurrencies and what lies between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from roles.tune.lengths import Floats
from roles.tune.predict import FREE, Prediction


@dataclass(frozen=True)
class Range:
    """Batch sizes from first to last, both included, and the k for them."""

    first: int
    last: int
    speculative_tokens: int


def by_batch(predictions: Sequence[Prediction]) -> tuple[Range, ...]:
    """The best k of each batch size up to the largest that was measured, among those that were found best at one.

    An engine with such a table drafts the largest k in it at every batch size and verifies fewer, so a smaller k gets
    the first positions of the largest one, not those of a block of its own. Between two concurrencies the time that a
    token takes is interpolated. A k is kept until another one is faster by more than FREE.
    """
    known = sorted((one for one in predictions if one.concurrency is not None), key=lambda one: one.concurrency or 0)
    if not known:
        return ()
    ks = sorted({_proven(one) for one in known})
    sizes = [one.concurrency or 1 for one in known]
    largest = sizes[-1]
    times = np.array([[_token_s(one, k, ks[-1]) for k in ks] for one in known])
    chosen: list[int] = []
    for size in range(1, largest + 1):
        now = np.array([np.interp(size, sizes, times[:, column]) for column in range(len(ks))])
        before = ks.index(chosen[-1]) if chosen else None
        stays = before is not None and now[before] <= (1 + FREE) * now.min()
        chosen.append(ks[before] if stays and before is not None else ks[int(np.argmin(now))])
    edges = [0, *(i for i, (one, other) in enumerate(pairwise(chosen), start=1) if one != other), largest]
    return tuple(Range(first + 1, last, chosen[first]) for first, last in pairwise(edges))


def speed_at(prediction: Prediction, k: int, most: int) -> float:
    """tok/s of all streams where k tokens of a block of `most` are verified."""
    return (prediction.concurrency or 1) / _token_s(prediction, k, most)


def _proven(prediction: Prediction) -> int:
    """The best k that was measured."""
    measured = [speed for speed in prediction.speeds if speed.measured]
    as_good = [speed.speculative_tokens for speed in measured if speed.speculative_tokens in prediction.plateau]
    return min(as_good) if as_good else max(measured, key=lambda speed: speed.tok_s).speculative_tokens


def _token_s(prediction: Prediction, k: int, most: int) -> float:
    """Seconds that one stream waits for a token, on average."""
    k, most = (min(one, len(prediction.speeds) - 1) for one in (k, most))
    block: Floats | Sequence[float] = prediction.rates.get(most, ())
    streams = prediction.concurrency or 1
    length = 1 + sum(block[:k]) if len(block) >= k else prediction.at(k).tok_s * prediction.round_s[k] / streams
    return prediction.round_s[k] / float(length)
