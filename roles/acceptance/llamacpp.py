"""What llama.cpp's server says about drafts: one line a request, or the timings in its answer."""

import re
from math import ceil, floor

from roles.acceptance.fragment import Fragment
from roles.acceptance.window import Window

_LINE = re.compile(
    r"draft acceptance(?: rate)? = (?P<rate>\d\.\d{5}) \(\s*(?P<accepted>\d{1,12}) accepted /\s*"
    r"(?P<drafted>\d{1,12}) generated\)(?:, mean len =\s*(?P<length>\d{1,6}\.\d\d))?"
)
_ANY = re.compile(r"draft acceptance(?: rate)? = ")
_EVAL = re.compile(r"\beval time =[^/]{0,100}/\s{0,20}(\d{1,12}) tokens")
_TIMINGS = re.compile(
    r'"predicted_n"\s*:\s*(\d{1,12})[^{}]{0,2000}"draft_n"\s*:\s*(\d{1,12})\s*,\s*"draft_n_accepted"\s*:\s*(\d{1,12})'
)
_NO_ROUNDS = "llama.cpp prints neither rounds nor k here: no acceptance length"


def is_line(text: str) -> bool:
    """Whether the line has a request's acceptance, whole or cut."""
    return _ANY.search(text) is not None or '"draft_n_accepted"' in text


def predicted(text: str) -> int | None:
    """Tokens that a request generated, from its "eval time" line; None for any other line."""
    found = _EVAL.search(text) if "eval time" in text and "prompt" not in text else None
    return int(found[1]) if found else None


def request_of(text: str, number: int, generated: int | None) -> Window | Fragment | str:
    """One request: a window where the mean length gives its rounds, else a fragment; or why it cannot be used.

    Drafts are of any length (an n-gram drafter proposes up to 48 tokens at once), so there is no k.
    """
    if timings := _TIMINGS.search(text):
        made, drafted, accepted = (int(group) for group in timings.groups())
        return _fragment(number, accepted, drafted, made)
    found = _LINE.search(text)
    if found is None:
        return "the line is cut"
    accepted, drafted = int(found["accepted"]), int(found["drafted"])
    if not drafted:
        return "no token was drafted in this request"
    if accepted > drafted or abs(float(found["rate"]) - accepted / drafted) > 0.0000051:
        return f"acceptance rate {found['rate']} is not {accepted}/{drafted}"
    if found["length"] is None or not accepted:
        return _fragment(number, accepted, drafted, generated)
    more = float(found["length"]) - 1
    if more <= 0.005:
        return f"a mean length of {found['length']} is not that of {accepted} accepted tokens"
    fewest, most = ceil(accepted / (more + 0.005001)), floor(accepted / (more - 0.005001))
    if fewest > most or fewest > drafted:
        return f"no number of rounds gives a mean length of {found['length']} for {accepted} accepted tokens"
    rounds = min(max(round(accepted / more), fewest), most)
    doubts = (f"rounds are between {fewest} and {most}: from a rounded mean length",) if fewest < most else ()
    return Window(rounds, accepted, drafted, generated=generated, source="log", doubts=doubts)


def _fragment(number: int, accepted: int, drafted: int, generated: int | None) -> Fragment | str:
    if accepted > drafted or (generated is not None and accepted > generated):
        return f"{accepted} accepted of {drafted} drafted and {generated} generated tokens cannot be"
    said = _NO_ROUNDS
    if generated is not None and generated > accepted:
        passes = generated - accepted
        said += f" ({passes} passes of the target, {generated / passes:.2f} tokens each, also those without a draft)"
    return Fragment(number, said, accepted=accepted, drafted=drafted)
