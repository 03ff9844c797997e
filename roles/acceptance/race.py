"""Which of several drafter configs accepts most, from a few rounds of each: a ranking, and what need not be tried."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

from roles.acceptance.distributions import student_quantile
from roles.acceptance.statistics import ENOUGH_PROMPTS, Interval, acceptance_length, paired, round_variance
from roles.acceptance.window import PromptWindow, pool

_MANY = 1000  # degrees of freedom: rounds are many

Choice = Mapping[str, str]
"""What a candidate chose: field -> value, as text. All candidates of a race have the same fields."""


@dataclass(frozen=True)
class Runner:
    """A candidate that was measured.

    failure: why it could not be; then windows are what was counted before
    doubts:  what speaks against it without any measurement; decides between those that are level
    """

    choice: Choice
    windows: tuple[PromptWindow, ...] = ()
    failure: str | None = None
    doubts: int = 0

    def length(self, confidence: float) -> Interval | None:
        """Its acceptance length; None where nothing was counted, or it failed."""
        return None if self.failure else acceptance_length(self.windows, confidence)


@dataclass(frozen=True)
class Beaten:
    """A value that needs no further trial: with all else equal, another one accepts more."""

    field: str
    value: str
    by: str


def ranked(runners: Sequence[Runner], confidence: float) -> list[Runner]:
    """Best first. Of those that cannot be told from the longest, the one with the fewest doubts is put first."""
    able = _longest_first(runners, confidence)
    if able:
        first = favourites(able, confidence)[0]
        able.remove(first)
        able.insert(0, first)
    return [*able, *(runner for runner in runners if runner.length(confidence) is None)]


def favourites(runners: Sequence[Runner], confidence: float) -> list[Runner]:
    """Those that nothing tells from the best, longest first: neither what was measured nor doubts. One is a winner."""
    able = _longest_first(runners, confidence)
    level = [runner for runner in able if not beats(able[0], runner, confidence)]
    fewest = min((runner.doubts for runner in level), default=0)
    return [runner for runner in level if runner.doubts == fewest]


def _longest_first(runners: Sequence[Runner], confidence: float) -> list[Runner]:
    able = [runner for runner in runners if runner.length(confidence) is not None]
    return sorted(able, key=lambda runner: -_estimate(runner, confidence))


def beats(one: Runner, other: Runner, confidence: float) -> bool:
    """Whether `one` accepts more than chance allows: over all rounds, or prompt by prompt where both ran the same.

    Each test alone is one-sided at (1 - confidence) / 2. With 56 rounds each, the measured curves of a right and of a
    wrong mask token (lengths 2.67 and 1.80) are told apart 4 times of 5, and equals 1 time of 20 (simulated).
    """
    mine, its = one.length(confidence), other.length(confidence)
    if mine is None:
        return False
    if its is None:
        return True
    if _surplus(one, other) > student_quantile(_MANY, (1 + confidence) / 2):
        return True
    change = paired(other.windows, one.windows, confidence)
    return change is not None and change.prompts >= ENOUGH_PROMPTS and change.high < 0


def beaten_values(runners: Sequence[Runner], confidence: float) -> tuple[Beaten, ...]:
    """Values that lost against another one with everything else equal.

    Fields are taken to add up: a value that is worse beside one choice of the others is not better beside another.
    """
    found: dict[tuple[str, str], Beaten] = {}
    for one in runners:
        for other in runners:
            differing = [field for field in one.choice if one.choice[field] != other.choice[field]]
            if len(differing) == 1 and beats(one, other, confidence):
                field = differing[0]
                found.setdefault((field, other.choice[field]), Beaten(field, other.choice[field], one.choice[field]))
    return tuple(found.values())


def why_not(choice: Choice, beaten: Sequence[Beaten]) -> Beaten | None:
    """The reason not to try a candidate at all; None when it must be tried."""
    return next((one for one in beaten if choice[one.field] == one.value), None)


def close(runners: Sequence[Runner], confidence: float) -> Iterator[tuple[Runner, Runner]]:
    """Neighbours of a ranking that cannot be told apart."""
    for better, worse in pairwise(runners):
        if better.length(confidence) and worse.length(confidence) and not beats(better, worse, confidence):
            yield better, worse


def _surplus(one: Runner, other: Runner) -> float:
    """How much longer `one` is, in standard errors, with rounds as the samples."""
    windows = [pool(prompt.window for prompt in runner.windows) for runner in (one, other)]
    lengths = [window.acceptance_length or 0.0 for window in windows]
    variances = [(round_variance(window) or 0.0) / max(window.rounds, 1) for window in windows]
    error = max(sqrt(sum(variances)), 1e-9)
    return (lengths[0] - lengths[1]) / error


def _estimate(runner: Runner, confidence: float) -> float:
    length = runner.length(confidence)
    return length.estimate if length else 0.0
