"""How much must be measured to see a drop of a given size."""

from math import ceil, log

from roles.acceptance.distributions import normal_quantile
from roles.acceptance.statistics import ENOUGH_PROMPTS, Comparison, round_variance
from roles.acceptance.window import Window

USUAL_POWER = 0.9


def rounds_needed(
    window: Window, drop: float, *, confidence: float = 0.95, power: float = USUAL_POWER, arms: int = 2
) -> int | None:
    """Rounds (in each arm) that show a relative drop of the acceptance length, two-sided; None without a variance.

    arms is 1 for a comparison with a length that is known exactly. Rounds are taken as independent: with prompts that
    differ it is a lower bound, and pairing by prompt (`prompts_needed`) is what helps.
    """
    variance, length = round_variance(window), window.acceptance_length
    if variance is None or length is None or not 0 < drop < 1:
        return None
    return max(1, ceil(arms * _reach(confidence, power) ** 2 * variance / (length * drop) ** 2))


def prompts_needed(measured: Comparison, drop: float, *, power: float = USUAL_POWER) -> int:
    """Prompts, paired and as long as the ones that were measured, that show a relative drop (0 < drop < 1)."""
    errors = _reach(measured.confidence, power) * measured.standard_error / log(1 - drop)
    return max(ENOUGH_PROMPTS, ceil(measured.prompts * errors**2))


def _reach(confidence: float, power: float) -> float:
    """Standard errors between no effect and one that is found with the given power."""
    return normal_quantile((1 + confidence) / 2) + normal_quantile(power)
