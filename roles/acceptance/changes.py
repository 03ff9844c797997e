"""A history of windows: whether its acceptance length stayed, stepped at one moment, or slid slowly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from roles.acceptance.series import Seen
from roles.acceptance.statistics import round_variance

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_MOST_POINTS = 150
_FEWEST_POINTS = 8
_EDGE = 3  # points on each side of a step
_CERTAIN = 0.001
_WORTH_SAYING = 0.03  # relative; two runs of one configuration differ by about that much
_DEEPEST = 6


@dataclass(frozen=True)
class Change:
    """One change of the acceptance length.

    kind:          "step" between two windows, "drift" over all from `first` to `last`
    first, last:   windows (of those that were given) around the step, or at both ends of the drift
    before, after: acceptance length on both sides of the step, or at both ends of the drift
    p_value:       of no change
    """

    kind: Literal["step", "drift"]
    first: Seen
    last: Seen
    before: float
    after: float
    p_value: float

    @property
    def relative(self) -> float:
        """-0.17 is 17 % less."""
        return self.after / self.before - 1


@dataclass(frozen=True)
class _Fit:
    p_value: float
    cost: float
    before: float
    after: float
    at: int = 0


def changes(seen: Sequence[Seen]) -> tuple[Change, ...]:
    """Steps and drifts that are real (p < 0.001 after all moments were tried) and worth saying (3 %), in their order.

    A window weighs as its rounds do; how much windows differ anyway (other prompts) is taken from their neighbours,
    and neighbours that resemble each other make it harder. A step costs one parameter more than a slide.
    """
    points = [group for group in _grouped(seen) if _weight(group) is not None]
    found = _within(points, 0) if len(points) >= _FEWEST_POINTS else []
    return tuple(sorted(found, key=lambda change: change.first.number))


def _within(points: Sequence[Sequence[Seen]], depth: int) -> list[Change]:
    if len(points) < _FEWEST_POINTS or depth > _DEEPEST:
        return []
    import numpy as np

    lengths = np.array([_length(group) for group in points])
    weights = np.array([_weight(group) or 0.0 for group in points])
    noise = _noise(lengths, weights)
    flat = _residue(lengths, weights, np.zeros(len(points)))
    step, slide = _step(lengths, weights, flat, noise), _slide(lengths, weights, flat, noise)
    real = [fit for fit in (step, slide) if fit.p_value < _CERTAIN and abs(fit.after / fit.before - 1) >= _WORTH_SAYING]
    if not real:
        return []
    if slide in real and (slide.cost <= step.cost or step not in real):
        return [Change("drift", points[0][0], points[-1][-1], slide.before, slide.after, slide.p_value)]
    change = Change("step", points[step.at - 1][-1], points[step.at][0], step.before, step.after, step.p_value)
    return [*_within(points[: step.at], depth + 1), change, *_within(points[step.at :], depth + 1)]


def _step(lengths: "Array", weights: "Array", flat: float, noise: float) -> _Fit:
    import numpy as np

    count = len(lengths)
    total, sums = np.cumsum(weights), np.cumsum(weights * lengths)
    at = np.arange(_EDGE, count - _EDGE + 1)
    left, right = sums[at - 1] / total[at - 1], (sums[-1] - sums[at - 1]) / (total[-1] - total[at - 1])
    gain = total[at - 1] * (total[-1] - total[at - 1]) / total[-1] * (left - right) ** 2
    best = int(np.argmax(gain))
    cost = (flat - float(gain[best])) / noise + np.log(count)
    p_value = min(1.0, len(at) * _tail(float(gain[best]) / noise))
    return _Fit(p_value, float(cost), float(left[best]), float(right[best]), int(at[best]))


def _slide(lengths: "Array", weights: "Array", flat: float, noise: float) -> _Fit:
    import numpy as np

    x = np.linspace(-0.5, 0.5, len(lengths))
    middle = float(np.average(x, weights=weights))
    mean = float(np.average(lengths, weights=weights))
    slope = float((weights * (x - middle) * (lengths - mean)).sum() / (weights * (x - middle) ** 2).sum())
    left = _residue(lengths - slope * (x - middle), weights, np.zeros(len(lengths)))
    ends = [max(1.0, mean + slope * (edge - middle)) for edge in (-0.5, 0.5)]
    return _Fit(_tail((flat - left) / noise), left / noise, ends[0], ends[1])


def _noise(lengths: "Array", weights: "Array") -> float:
    """How many times more neighbours differ than their rounds explain, without the largest twentieth of differences."""
    import numpy as np

    squares = np.sort(np.diff(lengths) ** 2 / (1 / weights[1:] + 1 / weights[:-1]))
    kept = squares[: max(3, int(0.95 * len(squares)))]
    noise = max(1.0, float(kept.mean()) * 1.25)
    # Differences of neighbours hide what lasts longer than a window: the residue of a moving mean shows it.
    width = max(3, len(lengths) // 8)
    smooth = np.convolve(lengths, np.ones(width) / width, mode="valid")
    residue = lengths[width // 2 : width // 2 + len(smooth)] - smooth
    before, after = residue[:-1], residue[1:]
    spread = float((residue**2).sum())
    alike = float((before * after).sum()) / spread if spread else 0.0
    alike = min(max(alike, 0.0), 0.8)
    return noise * (1 + alike) / (1 - alike)


def _residue(lengths: "Array", weights: "Array", model: "Array") -> float:
    import numpy as np

    rest = lengths - model
    return float((weights * (rest - np.average(rest, weights=weights)) ** 2).sum())


def _tail(statistic: float) -> float:
    """Chance of a chi-squared value (one degree of freedom) at least as large."""
    from scipy.special import chdtrc

    return float(chdtrc(1, max(0.0, statistic)))


def _grouped(seen: Sequence[Seen]) -> list[list[Seen]]:
    """At most 150 groups of neighbours with about the same number of windows."""
    used = [one for one in seen if one.window.rounds]
    size = -(-len(used) // _MOST_POINTS) or 1
    return [used[i : i + size] for i in range(0, len(used), size)]


def _length(group: Sequence[Seen]) -> float:
    rounds = sum(one.window.rounds for one in group)
    return sum((one.window.acceptance_length or 1.0) * one.window.rounds for one in group) / rounds


def _weight(group: Sequence[Seen]) -> float | None:
    """1 / variance of the group's mean as if rounds were independent; never as if nothing could vary."""
    rounds = sum(one.window.rounds for one in group)
    spread = [(round_variance(one.window), one.window.rounds) for one in group]
    known = [variance * count for variance, count in spread if variance is not None]
    if not rounds or len(known) != len(spread):
        return None
    return rounds / max(sum(known) / rounds, 0.02)
