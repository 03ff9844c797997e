"""How it is at the end of a log: what came after its last step, and its newest rounds, whatever hours before say."""

from collections.abc import Callable, Sequence

from roles.acceptance.changes import Change
from roles.acceptance.series import Seen
from roles.acceptance.verdict import Verdict

ENOUGH_ROUNDS = 300
"""The newest windows with at least so many rounds together are judged: a collapse is called by far fewer."""

_MOST_WINDOWS = 200


def newest(seen: Sequence[Seen]) -> tuple[Seen, ...]:
    """The last windows of one k that have ENOUGH_ROUNDS together; all of them where there are fewer."""
    kept: list[Seen] = []
    rounds = 0
    for one in reversed(seen):
        if kept and one.window.k != kept[-1].window.k:
            break
        kept.append(one)
        rounds += one.window.rounds
        if rounds >= ENOUGH_ROUNDS or len(kept) >= _MOST_WINDOWS:
            break
    return tuple(kept[::-1])


def lately(
    seen: Sequence[Seen], found: Sequence[Change], decide: Callable[[Sequence[Seen]], Verdict], whole: Verdict
) -> tuple[Verdict, str | None]:
    """The verdict on what is now, and since when; (whole, None) where nothing sets the end apart.

    found: steps and slides of the history. A collapse of some minutes weighs nothing in a day of good windows, and
    moves no step before there are enough windows after it: so the newest rounds are looked at by themselves.
    """
    step = last_step(found)
    begin = next((i for i, one in enumerate(seen) if step is not None and one is step.last), 0)
    now, since = seen[begin:], moment(step.last) if step else None
    verdict = decide(now) if step else whole
    end = newest(now)
    if verdict.outcome == "pass" and len(end) < len(now):
        last = decide(end)
        if last.outcome == "fail":
            return last, moment(end[0])
    return verdict, since


def last_step(found: Sequence[Change]) -> Change | None:
    """The last moment at which something changed."""
    return next((change for change in reversed(found) if change.kind == "step"), None)


def moment(one: Seen) -> str:
    """When a window was printed, or its line where the log does not say."""
    return one.at or f"line {one.number}"
