"""Two measurements of other requests: how much longer or shorter, at the positions that both have."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from roles.acceptance.distributions import student_quantile
from roles.acceptance.series import Seen, stretches
from roles.acceptance.statistics import Comparison, Mean, mean_of_samples, p_value_of, round_variance
from roles.acceptance.window import Window, first_positions, pool

REQUESTS_DIFFER = 0.14
"""Coefficient of variation of what one request accepts a round, between requests: taken for granted where too few
windows are there to show it. A little more than what prompts of one kind differ by (12 %)."""

_MANY = 1000.0  # degrees of freedom of an error that is not estimated from a handful of windows


@dataclass(frozen=True)
class Measured:
    """A change, and over how many positions it was taken (None: all, k is the same or unknown on both sides).

    assumed: one side has too few windows to show how much requests differ, so REQUESTS_DIFFER was taken
    paired:  the samples are prompts that both sides have run, after all
    """

    change: Comparison
    positions: int | None
    before: Window
    after: Window
    assumed: bool = False
    paired: bool = False


def unpaired(before: Sequence[Seen], after: Sequence[Seen], confidence: float) -> Measured | None:
    """Relative change of the acceptance length; None where one side has none, or k differs and positions are unknown.

    Nothing is paired, so what made the requests easy or hard is in the error: it comes from how much stretches of a log
    (or prompts) differ, each side by itself; Welch's degrees of freedom. A window of a log is
    as good as one request.
    """
    old, new = stretches(before), stretches(after)
    sizes = {window.k for window in (*old, *new)}
    positions = None
    if len(sizes) > 1:
        positions = min((len(window.per_position) for window in (*old, *new)), default=0)
        cut = [[first_positions(window, positions) for window in side] for side in (old, new)]
        if not positions or any(window is None for side in cut for window in side):
            return None
        old, new = ([window for window in side if window is not None] for side in cut)
    was, now = (_mean(side, _requests(seen)) for side, seen in ((old, before), (new, after)))
    if was is None or now is None:
        return None
    parts = [mean.error**2 / mean.length**2 for mean in (was, now)]
    error = sqrt(sum(parts))
    freedom = _welch(parts, (was.freedom, now.freedom))
    change = log(now.length / was.length)
    reach = student_quantile(freedom, (1 + confidence) / 2) * error
    comparison = Comparison(
        relative=exp(change) - 1,
        low=exp(change - reach) - 1,
        high=exp(change + reach) - 1,
        p_value=p_value_of(change, error, freedom),
        prompts=min(len(old), len(new)),
        standard_error=error,
        confidence=confidence,
    )
    return Measured(comparison, positions, pool(old), pool(new), _MANY in (was.freedom, now.freedom))


def _requests(seen: Sequence[Seen]) -> int:
    return sum(one.requests for one in seen if one.window.rounds)


def _mean(samples: Sequence[Window], requests: int) -> Mean | None:
    """Length and error of one side."""
    if (mean := mean_of_samples(samples)) is not None:
        return mean
    whole = pool(samples)
    length, variance = whole.acceptance_length, round_variance(whole)
    if length is None or variance is None:
        return None
    between = (REQUESTS_DIFFER * (length - 1)) ** 2 / requests
    return Mean(length, sqrt(variance / whole.rounds + between), _MANY)


def _welch(parts: Sequence[float], freedoms: Sequence[float]) -> float:
    """Degrees of freedom of a sum of two estimated variances (Welch and Satterthwaite)."""
    below = sum(part**2 / freedom for part, freedom in zip(parts, freedoms, strict=True))
    return max(1.0, sum(parts) ** 2 / below) if below else _MANY
