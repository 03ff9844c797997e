"""Whether a change of the acceptance length is a failure: large, real, and more than two equal runs differ by."""

from math import ceil, exp, log
from typing import Literal

from roles.acceptance.distributions import student_quantile
from roles.acceptance.power import prompts_needed
from roles.acceptance.statistics import Comparison

Outcome = Literal["pass", "fail", "inconclusive"]

SHORTER_BLOCK = 0.12
"""What the first positions of the same drafter gain at most when k falls from 15 to 5, relative (measured 3-12 %)."""


def noise_floor(again: Comparison, prompts: int) -> float:
    """What two runs of one release may differ by over so many prompts, relative (0.02 is 2 %).

    again: an A/A run: some prompts measured twice on one server. Its mean is chance too and is not taken; its error is
    scaled from its prompts to `prompts`, and reaches as far as its own confidence says (Student's t).
    """
    error = again.standard_error * (again.prompts / prompts) ** 0.5
    return exp(student_quantile(again.prompts - 1, (1 + again.confidence) / 2) * error) - 1


def judge(
    change: Comparison, largest_drop: float, *, against: str, rounds: int, paired: bool = True, floor: float = 0.0
) -> tuple[Outcome, str]:
    """Pass, fail or inconclusive, with the sentence that says why.

    A drop fails only when it is larger than `largest_drop` (0-1), real at the comparison's confidence, and above
    `floor` (see `noise_floor`). What could not have been seen is inconclusive, and says how much would tell.
    rounds: of the side that has fewer; paired: whether the comparison's samples are prompts
    """
    drop, size = -change.relative, f"acceptance length {100 * change.relative:+.1f} % against {against}"
    width = f"{100 * change.low:+.1f} to {100 * change.high:+.1f} %"
    width = f"({width}, {change.prompts} prompts)" if paired else f"({width})"
    limit = f"{100 * largest_drop:g} %"
    if drop > largest_drop and change.p_value < 1 - change.confidence:
        if drop <= floor:
            more = _more(change, largest_drop, rounds, paired)
            return (
                "inconclusive",
                f"{size} {width}, but two runs of {against} differ by up to {100 * floor:.1f} %{more}",
            )
        return "fail", f"{size} {width}, more than {limit} less"
    if drop > largest_drop:
        return "inconclusive", f"{size} may be chance {width}{_more(change, largest_drop, rounds, paired)}"
    # A low bound under the limit is not enough: then no change at all would often be inconclusive. The question is
    # whether a drop of that size would have been noticed.
    blind = 0 < largest_drop < 1 and log(1 + change.relative) - log(1 + change.low) > -log(1 - largest_drop)
    if change.low < -largest_drop and blind:
        more = _more(change, largest_drop, rounds, paired)
        return "inconclusive", f"a drop of {limit} could not have been seen {width}{more}"
    return "pass", f"{size} {width}"


def _more(change: Comparison, largest_drop: float, rounds: int, paired: bool) -> str:
    """How much would tell; empty where more of the same is no question of numbers."""
    if not 0 < largest_drop < 1:
        return ""
    need = prompts_needed(change, largest_drop)
    if need <= change.prompts:
        return ""
    about = ceil(rounds * need / change.prompts)
    told = f"about {about} rounds"
    return f"; {need} prompts ({told}) would tell" if paired else f"; {told} on each side would tell"
