"""The early test: a drafter that is plainly broken shows within a few dozen rounds, and needs no more than that."""

from dataclasses import dataclass
from math import log
from typing import Literal

from roles.acceptance.window import Window

FALSE_ALARMS = 0.005
"""Bound on the chance to call a drafter collapsed that is as good as `healthy`, over all looks together."""

_DEPTH = 3  # later positions add little, and a repetition loop that accepts all k at once would outweigh twenty rounds
_BEST_HEALTHY = 0.6
_SHARE_OF_BASELINE = 0.85  # the first prompts may be harder than all of them
_SHARE_OF_FLOOR = 1.5
_COLLAPSED = 0.3  # of healthy: 0.15 for 0.5, what the all-wrong configuration has


@dataclass(frozen=True)
class EarlyLook:
    """What the rounds so far say.

    state:    "collapsed", "healthy", or "open" while they say neither
    rounds:   that were looked at
    healthy:  acceptance per trial that counts as healthy, 0-1; None when nothing says what healthy is
    evidence: natural logarithm of the likelihood of collapsed over healthy
    """

    state: Literal["collapsed", "healthy", "open"]
    rounds: int
    healthy: float | None
    evidence: float


def healthy_acceptance(floor: float, baseline: Window | None) -> float | None:
    """Acceptance per trial below which a drafter is suspect: from the baseline's own, else from the policy's floor.

    A trial is one drafted token whose predecessors in the round were all accepted. A floor of 1.5 means 1/3 a trial,
    and 1.5 times that (0.5, a length of 2) is taken as healthy: so a drafter at the floor itself may be called
    collapsed early (simulated: 11 % at a length of 1.6, 1 % at 1.8), one of length 2 or more practically never. None
    for a floor that allows everything.
    """
    if baseline is not None and baseline.rounds and (trials := _trials(baseline)) is not None:
        accepted, refused = trials
        healthy = _SHARE_OF_BASELINE * accepted / (accepted + refused)
    else:
        healthy = _SHARE_OF_FLOOR * (floor - 1) / floor
    return min(healthy, _BEST_HEALTHY) if healthy >= 0.05 else None


def look(window: Window, healthy: float | None) -> EarlyLook:
    """Sequential probability ratio test over the first 3 positions; `window` holds all rounds so far.

    May be asked as often as one likes: the likelihood ratio is a supermartingale for every drafter that accepts at
    least `healthy` of its trials, so by Ville's inequality it ever passes 1/FALSE_ALARMS with at most that chance.
    With 0.8 % acceptance at k=15 it decides within 20 rounds 9 times of 10, with the all-wrong configuration's measured
    curves (length 1.17-1.20) after 20 in the mean, 99 % within 60.
    """
    trials = _trials(window)
    if trials is None or healthy is None:
        return EarlyLook("open", window.rounds, healthy, 0.0)
    accepted, refused = trials
    broken = _COLLAPSED * healthy
    evidence = accepted * log(broken / healthy) + refused * log((1 - broken) / (1 - healthy))
    bound = -log(FALSE_ALARMS)
    state: Literal["collapsed", "healthy", "open"] = "open"
    if evidence >= bound:
        state = "collapsed"
    elif evidence <= -bound:
        state = "healthy"
    return EarlyLook(state, window.rounds, healthy, evidence)


def _trials(window: Window) -> tuple[int, int] | None:
    """Accepted and refused trials among the first positions; None when positions were not counted."""
    counts = window.per_position[:_DEPTH]
    return (sum(counts), window.rounds - counts[-1]) if counts else None
