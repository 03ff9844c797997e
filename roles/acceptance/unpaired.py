"""Two measurements of other requests: how much longer or shorter, at the positions that both have."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from roles.acceptance.distributions import student_quantile, student_tails
from roles.acceptance.statistics import Comparison, acceptance_length
from roles.acceptance.window import PromptWindow, Window, first_positions, pool


@dataclass(frozen=True)
class Unpaired:
    """The change, and over how many positions it was taken (None: all, k is the same or unknown on both sides)."""

    change: Comparison
    positions: int | None
    before: Window
    after: Window


def unpaired(before: Sequence[Window], after: Sequence[Window], confidence: float) -> Unpaired | None:
    """Relative change of the acceptance length; None where one side has none, or k differs and positions are unknown.

    Both sides have their own spread over windows (over rounds where there are few windows); nothing is paired, so what
    made the requests easy or hard is in it.
    """
    sizes = {window.k for window in (*before, *after) if window.rounds}
    positions = None
    if len(sizes) > 1:
        depths = [len(window.per_position) for window in (*before, *after) if window.rounds]
        positions = min(depths, default=0)
        cut = [[first_positions(window, positions) for window in side if window.rounds] for side in (before, after)]
        if not positions or any(window is None for side in cut for window in side):
            return None
        before, after = ([window for window in side if window is not None] for side in cut)
    old, new = _measured(before, confidence), _measured(after, confidence)
    if old is None or new is None:
        return None
    (old_length, old_error), (new_length, new_error) = old, new
    error = ((old_error / old_length) ** 2 + (new_error / new_length) ** 2) ** 0.5
    change, freedom = log(new_length / old_length), max(1, min(len(before), len(after)) - 1)
    freedom = freedom if freedom >= 4 else 1000  # few windows: their errors come from rounds, of which there are many
    reach = student_quantile(freedom, (1 + confidence) / 2) * error
    p_value = student_tails(freedom, change / error) if error > 1e-12 else float(abs(change) < 1e-12)
    comparison = Comparison(
        exp(change) - 1, exp(change - reach) - 1, exp(change + reach) - 1, p_value, len(after), error, confidence
    )
    return Unpaired(comparison, positions, pool(before), pool(after))


def _measured(windows: Sequence[Window], confidence: float) -> tuple[float, float] | None:
    """Length and standard error, from the interval's half width."""
    used = [window for window in windows if window.rounds]
    found = acceptance_length([PromptWindow(str(i), window) for i, window in enumerate(used)], confidence)
    if found is None:
        return None
    freedom = len(used) - 1 if len(used) >= 5 else 1000
    half = max(found.high - found.estimate, found.estimate - found.low)
    return found.estimate, half / student_quantile(freedom, (1 + confidence) / 2)
