"""Draws windows of made-up drafters: prompts that differ, rounds that end at the first refused token."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from roles.acceptance.window import PromptWindow, Window

RIGHT_K15 = (0.638, 0.373, 0.176, 0.096, 0.072, 0.060, 0.048, 0.043, 0.033, 0.025, 0.024, 0.022, 0.021, 0.021, 0.021)
RIGHT_K5 = (0.652, 0.416, 0.205, 0.137, 0.109)
FIELD_REPORT_K5 = (0.800, 0.556, 0.377, 0.245, 0.166)
ALL_WRONG_C1 = (0.196, 0.006) + (0.0,) * 13
ALL_WRONG_C8 = (0.133, 0.019, 0.003, 0.002) + (0.001,) * 11  # a loop now and then accepts all 15


def chances(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """From per-position rates (last axis) to the chances that exactly 0, 1 ... k tokens of a round are accepted."""
    edge = np.ones((*rates.shape[:-1], 1))
    return np.asarray(-np.diff(np.concatenate([edge, rates, 0 * edge], axis=-1), axis=-1))


def window_of(drawn: NDArray[np.int64]) -> Window:
    """The window of a histogram: rounds that accepted 0, 1 ... k tokens."""
    counts = tuple(int(count) for count in drawn[::-1].cumsum()[::-1][1:])
    rounds, k = int(drawn.sum()), len(drawn) - 1
    return Window(rounds, sum(counts), k * rounds, counts, k)


def windows(
    rng: np.random.Generator, rates: Sequence[float], ease: NDArray[np.float64], rounds: int, factor: float = 1.0
) -> list[PromptWindow]:
    """One window a prompt. ease scales what a prompt accepts, factor what all of them do."""
    curves = np.minimum(np.array(rates) * ease[:, None] * factor, 0.99)
    drawn = rng.multinomial(rounds, chances(curves))
    return [PromptWindow(f"p{i}", window_of(histogram)) for i, histogram in enumerate(drawn)]


def prompts_that_differ(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """How easy each prompt is to draft: 1 on average, 12 % coefficient of variation."""
    return np.clip(rng.normal(1.0, 0.12, count), 0.5, 1.4)
