"""A history of windows: whether its acceptance length stayed, stepped at one moment, or slid slowly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from roles.acceptance.series import Seen
from roles.acceptance.statistics import round_variance

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

CERTAIN = 0.005
"""A change is told when the chance to see it in a history that stays is smaller, all moments together."""

_MOST_POINTS = 150
_FEWEST_POINTS = 8
_EDGE = 3  # points on each side of a step
_WORTH_SAYING = 0.03  # relative; two runs of one configuration differ by about that much
_COLLAPSE = 0.6  # of the length: requests that differ by 12 % in what they accept do not do that in three windows
_DEEPEST = 6
_BIAS = 1.75  # residues of a fit look less alike than their series is; tried out, see the tests
_LEAST_FREEDOM = 4.0  # fewer independent stretches of a log say nothing about how much stretches differ


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
    """left: squared residues that the fit leaves, in units of what rounds alone leave; at: first point after a step."""

    p_value: float
    left: float
    before: float
    after: float
    at: int = 0

    @property
    def real(self) -> bool:
        return self.p_value < CERTAIN and abs(self.after / self.before - 1) >= _WORTH_SAYING


def changes(seen: Sequence[Seen]) -> tuple[Change, ...]:
    """Steps and drifts that are real (CERTAIN) and worth saying (3 %), in their order.

    A window weighs as its rounds do. How much windows differ anyway (other requests), and for how long neighbours
    resemble each other (one request lasts for several windows), is taken from what the fit leaves: least squares with
    an autoregressive error of order one, whose effective number of points decides. A step and a slide of the same size
    are told apart by what they leave; a step has one parameter more.
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
    step: _Fit | None = _collapse(lengths, weights)
    if step is None:
        step, slide = _step(lengths, weights), _slide(lengths, weights)
        if slide.real and (slide.left <= step.left * len(points) ** (1 / len(points)) or not step.real):
            return [Change("drift", points[0][0], points[-1][-1], slide.before, slide.after, slide.p_value)]
        if not step.real:
            step = _slides(lengths, weights)
        if step is None or not step.real:
            return []
    change = Change("step", points[step.at - 1][-1], points[step.at][0], step.before, step.after, step.p_value)
    return [*_within(points[: step.at], depth + 1), change, *_within(points[step.at :], depth + 1)]


def _collapse(lengths: "Array", weights: "Array") -> _Fit | None:
    """The largest jump between three points and the next three, where it is that of a collapse or of its end.

    One that is so large is seen beside other changes too, which would make a single step fit badly.
    """
    import numpy as np

    total, sums = (np.concatenate([[0.0], np.cumsum(values)]) for values in (weights, weights * lengths))
    at = np.arange(_EDGE, len(lengths) - _EDGE + 1)
    near, far = total[at] - total[at - _EDGE], total[at + _EDGE] - total[at]
    before, after = (sums[at] - sums[at - _EDGE]) / near, (sums[at + _EDGE] - sums[at]) / far
    best = int(np.argmax(np.abs(np.log(after / before))))
    low, high = sorted((float(before[best]), float(after[best])))
    p_value = len(at) * _tail((high - low) ** 2 / float(1 / near[best] + 1 / far[best]))
    if low > _COLLAPSE * high or p_value >= CERTAIN:
        return None
    return _Fit(p_value, 0.0, float(before[best]), float(after[best]), int(at[best]))


def _step(lengths: "Array", weights: "Array") -> _Fit:
    import numpy as np

    total, sums = np.cumsum(weights), np.cumsum(weights * lengths)
    at = np.arange(_EDGE, len(lengths) - _EDGE + 1)
    left, right = sums[at - 1] / total[at - 1], (sums[-1] - sums[at - 1]) / (total[-1] - total[at - 1])
    gain = total[at - 1] * (total[-1] - total[at - 1]) / total[-1] * (left - right) ** 2
    best = int(np.argmax(gain))
    model = np.where(np.arange(len(lengths)) < at[best], left[best], right[best])
    p_value, rest = _judged(float(gain[best]), lengths - model, weights, parameters=3)
    return _Fit(min(1.0, len(at) * p_value), rest, float(left[best]), float(right[best]), int(at[best]))


def _slide(lengths: "Array", weights: "Array") -> _Fit:
    import numpy as np

    x = np.linspace(-0.5, 0.5, len(lengths))
    x -= float(np.average(x, weights=weights))
    mean = float(np.average(lengths, weights=weights))
    spread = float((weights * x**2).sum())
    slope = float((weights * x * (lengths - mean)).sum()) / spread
    p_value, rest = _judged(slope**2 * spread, lengths - mean - slope * x, weights, parameters=2)
    ends = [max(1.0, mean + slope * float(edge)) for edge in (x[0], x[-1])]
    return _Fit(p_value, rest, ends[0], ends[1])


def _slides(lengths: "Array", weights: "Array") -> _Fit | None:
    """The step between two slides: what a server loses while it runs and has again after a restart."""
    import numpy as np

    if len(lengths) < 2 * _FEWEST_POINTS:
        return None
    x = np.linspace(-0.5, 0.5, len(lengths))
    at = np.arange(_FEWEST_POINTS, len(lengths) - _FEWEST_POINTS + 1)
    fits = [(_line(x[:cut], lengths[:cut], weights[:cut]), _line(x[cut:], lengths[cut:], weights[cut:])) for cut in at]
    models = [np.concatenate(fit) for fit in fits]
    left = np.array([float((weights * (lengths - model) ** 2).sum()) for model in models])
    best = int(np.argmin(left))
    mean = float(np.average(lengths, weights=weights))
    gain = float((weights * (lengths - mean) ** 2).sum()) - float(left[best])
    p_value, rest = _judged(gain / 3, lengths - models[best], weights, parameters=5, gained=3)
    before, after = fits[best]
    return _Fit(min(1.0, len(at) * p_value), rest, float(before[-1]), float(after[0]), int(at[best]))


def _line(x: "Array", lengths: "Array", weights: "Array") -> "Array":
    """The straight line through points, at each of them."""
    import numpy as np

    middle, mean = np.average(x, weights=weights), np.average(lengths, weights=weights)
    slope = (weights * (x - middle) * (lengths - mean)).sum() / (weights * (x - middle) ** 2).sum()
    return np.asarray(mean + slope * (x - middle))


def _judged(
    gain: float, residues: "Array", weights: "Array", *, parameters: int, gained: int = 1
) -> tuple[float, float]:
    """Chance of a fit's gain where there is nothing to fit, and the squared residues that are left.

    gain: for each of the parameters that a constant does not have (`gained`)
    """
    from scipy.special import fdtrc

    count = len(residues)
    scaled = residues * weights**0.5
    left = float((scaled**2).sum())
    alike = float((scaled[1:] * scaled[:-1]).sum()) / left if left else 0.0
    alike = min(max(alike + _BIAS * (parameters + 1 + 3 * alike) / count, 0.0), 0.9)
    noise = max(1.0, left / (count - parameters)) * (1 + alike) / (1 - alike)
    freedom = count * (1 - alike) / (1 + alike) - parameters
    return (float(fdtrc(gained, freedom, gain / noise)) if freedom >= _LEAST_FREEDOM else 1.0), left


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
