"""The statistics of vLLM's V0 engine (0.5-0.9): one line with counts since the engine started."""

import re
from dataclasses import dataclass

from roles.acceptance.window import Window

# 0.5 and 0.6 wrote "draft tokens tokens"; fractions instead of percent; a full stop at the end.
_LINE = re.compile(
    r"Speculative metrics: Draft acceptance rate: (?P<rate>\d\.\d{3}|nan), "
    r"System efficiency: (?P<efficiency>\d\.\d{3}|nan), "
    r"Number of speculative tokens: (?P<k>\d{1,4}), Number of accepted tokens: (?P<accepted>\d{1,15}), "
    r"Number of draft tokens(?: tokens)?: (?P<drafted>\d{1,15}), "
    r"Number of emitted tokens(?: tokens)?: (?P<emitted>\d{1,15})"
)
_ANY = re.compile(r"Speculative metrics: Draft acceptance rate:")


@dataclass(frozen=True)
class Totals:
    """Counts since the engine started, as the line has them."""

    k: int
    accepted: int
    drafted: int
    emitted: int


def is_line(text: str) -> bool:
    """Whether it is such a line, whole or cut."""
    return _ANY.search(text) is not None


def totals_of(text: str) -> Totals | None:
    """Read the line; None when it is cut."""
    found = _LINE.search(text)
    if found is None:
        return None
    return Totals(int(found["k"]), int(found["accepted"]), int(found["drafted"]), int(found["emitted"]))


def window_between(before: Totals | None, after: Totals) -> Window | str:
    """What happened since the line before (None: since the engine started), or why it cannot be used.

    V0 drafts k tokens in every round. It counts a token as accepted also behind the first refused one, so its accepted
    tokens do not give a length; what was emitted does.
    """
    if before is not None and (before.k != after.k or _went_back(before, after)):
        before = None  # another engine, or the same one started again
    accepted, drafted, emitted = after.accepted, after.drafted, after.emitted
    if before is not None:
        accepted -= before.accepted
        drafted -= before.drafted
        emitted -= before.emitted
    if not drafted:
        return "no token was drafted in this window"
    if not after.k or drafted % after.k:
        return f"{drafted} drafted tokens are not a multiple of k={after.k}: rounds unknown"
    rounds = drafted // after.k
    doubts = []
    if emitted != accepted + rounds:
        doubts.append("V0 counts accepted tokens behind a refused one too: the length comes from what was emitted")
    return Window(rounds, accepted, drafted, k=after.k, emitted=emitted, source="log", doubts=tuple(doubts))


def _went_back(before: Totals, after: Totals) -> bool:
    return before.drafted > after.drafted or before.emitted > after.emitted or before.accepted > after.accepted
