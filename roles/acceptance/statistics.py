"""How far counts can be trusted: intervals of the acceptance length, and a baseline compared prompt by prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, isclose, log, sqrt

from roles.acceptance.distributions import beta_quantile, student_quantile, student_tails
from roles.acceptance.window import PromptWindow, Window, pool

ENOUGH_PROMPTS = 5
"""Fewer prompts say too little about how much prompts differ."""


@dataclass(frozen=True)
class Mean:
    """An acceptance length with its standard error and the error's degrees of freedom."""

    length: float
    error: float
    freedom: float


@dataclass(frozen=True)
class Interval:
    """An estimate with the bounds that hold it with the given confidence (two-sided, 0-1)."""

    estimate: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True)
class Comparison:
    """Candidate against baseline over the prompts that both have run.

    relative:       change of the acceptance length as a fraction: -0.07 is 7 % less; low and high bound it
    p_value:        two-sided, of no change
    standard_error: of log(candidate / baseline)
    """

    relative: float
    low: float
    high: float
    p_value: float
    prompts: int
    standard_error: float
    confidence: float


def round_variance(window: Window) -> float | None:
    """Variance of the accepted tokens of one round; None without rounds, or when neither positions nor k are known.

    Accepted tokens nest (position i needs position i-1), so the per-position rates hold the whole distribution:
    Var = sum (2i+1) P_i - (sum P_i)^2, i from 0. That is about 2.4 times what independent tokens would have. Without
    positions: the largest variance that a mean between 0 and k can have (Bhatia and Davis).
    """
    if not window.rounds:
        return None
    mean = window.accepted / window.rounds
    if window.per_position:
        second = fsum((2 * i + 1) * rate for i, rate in enumerate(window.per_position_rates))
        return max(0.0, second - mean**2)
    return max(0.0, mean * (window.k - mean)) if window.k is not None else None


def length_from_rounds(window: Window, confidence: float) -> Interval | None:
    """Interval of the acceptance length as if rounds were independent; None without data."""
    variance, length = round_variance(window), window.acceptance_length
    if variance is None or length is None:
        return None
    error = sqrt(variance / window.rounds)
    return _interval(window, length, error, max(1, window.rounds - 1), confidence)


def mean_of_samples(windows: Sequence[Window]) -> Mean | None:
    """The pooled acceptance length with windows as the samples; None for fewer than ENOUGH_PROMPTS with rounds.

    Ratio estimator: a window's residual is accepted - R * rounds, where R is accepted/rounds of all of them; one degree
    of freedom fewer than windows.
    """
    used = [window for window in windows if window.rounds]
    pooled = pool(used)
    length = pooled.acceptance_length
    if len(used) < ENOUGH_PROMPTS or length is None:
        return None
    return Mean(length, sqrt(_spread(_residuals(used, pooled))), len(used) - 1)


def length_from_prompts(windows: Sequence[PromptWindow], confidence: float) -> Interval | None:
    """Interval of the pooled acceptance length with prompts as the samples; None for fewer than ENOUGH_PROMPTS."""
    used = [prompt.window for prompt in windows]
    mean = mean_of_samples(used)
    return None if mean is None else _interval(pool(used), mean.length, mean.error, mean.freedom, confidence)


def acceptance_length(windows: Sequence[PromptWindow], confidence: float) -> Interval | None:
    """The best interval that the windows allow: by prompts where there are enough, else by rounds."""
    by_prompts = length_from_prompts(windows, confidence)
    return by_prompts or length_from_rounds(pool(prompt.window for prompt in windows), confidence)


def paired(candidate: Sequence[PromptWindow], baseline: Sequence[PromptWindow], confidence: float) -> Comparison | None:
    """Relative change of the acceptance length over the prompts that both sides have; None for too few of them.

    The logarithm of the ratio of both pooled lengths, its error from the per-prompt difference of both sides' residuals
    (so what makes a prompt easy or hard cancels out), Student's t over prompts.
    """
    before = {prompt.prompt: prompt.window for prompt in baseline if prompt.window.rounds}
    after = {prompt.prompt: prompt.window for prompt in candidate if prompt.window.rounds}
    shared = [prompt for prompt in after if prompt in before]
    if len(shared) < ENOUGH_PROMPTS:
        return None
    old, new = [before[prompt] for prompt in shared], [after[prompt] for prompt in shared]
    old_pool, new_pool = pool(old), pool(new)
    old_length, new_length = old_pool.acceptance_length, new_pool.acceptance_length
    if old_length is None or new_length is None:
        return None
    differences = [
        now / new_length - was / old_length
        for now, was in zip(_residuals(new, new_pool), _residuals(old, old_pool), strict=True)
    ]
    error = sqrt(_spread(differences))
    freedom = len(shared) - 1
    change = log(new_length / old_length)
    reach = student_quantile(freedom, (1 + confidence) / 2) * error
    return Comparison(
        relative=exp(change) - 1,
        low=exp(change - reach) - 1,
        high=exp(change + reach) - 1,
        p_value=p_value_of(change, error, freedom),
        prompts=len(shared),
        standard_error=error,
        confidence=confidence,
    )


def binomial_bounds(count: int, of: int, confidence: float) -> tuple[float, float]:
    """Exact (Clopper-Pearson) two-sided bounds of a share, 0-1. `of` is at least 1."""
    tail = (1 - confidence) / 2
    low = beta_quantile(count, of - count + 1, tail) if count > 0 else 0.0
    high = beta_quantile(count + 1, of - count, 1 - tail) if count < of else 1.0
    return low, high


def _interval(window: Window, length: float, error: float, freedom: float, confidence: float) -> Interval:
    """Student's t, widened where few rounds accepted anything (or all did), by the exact bounds of position 0.

    There the plain interval is too narrow, down to no width at all for "0 of 20 rounds". The length is 1 + P0 * (mean
    accepted in a round that accepts anything), so the bounds of P0 are bounds of the length.
    """
    reach = student_quantile(freedom, (1 + confidence) / 2) * error
    low, high = length - reach, length + reach
    if window.per_position:
        hits = window.per_position[0]
        depth = window.accepted / hits if hits else 1.0
        least, most = binomial_bounds(hits, window.rounds, confidence)
        low, high = min(low, 1 + least * depth), max(high, 1 + most * depth)
    ceiling = 1 + window.k if window.k is not None else high
    return Interval(length, max(1.0, low), max(length, min(high, ceiling)), confidence)


def _residuals(windows: Sequence[Window], pooled: Window) -> list[float]:
    """Each prompt's accepted tokens above what its rounds give at the pooled rate, per round of the pool."""
    ratio = pooled.accepted / pooled.rounds
    return [(window.accepted - ratio * window.rounds) / pooled.rounds for window in windows]


def _spread(residuals: Sequence[float]) -> float:
    """Variance of a sum of residuals that are 0 on average."""
    count = len(residuals)
    return count / (count - 1) * fsum(residual**2 for residual in residuals)


def p_value_of(change: float, error: float, freedom: float) -> float:
    """Two-sided chance of a change at least as large where there is none."""
    if error < 1e-12:  # every prompt changed by the same: nothing is left to chance
        return 1.0 if isclose(change, 0.0, abs_tol=1e-12) else 0.0
    return student_tails(freedom, change / error)
