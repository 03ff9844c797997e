"""vLLM's per-request counts in an answer (0.29 and later, --per-request-spec-decode-metrics): the most exact source."""

import json
from collections.abc import Iterator

from roles.acceptance.window import Window, with_doubts

_KEY = "acceptance_histogram"
_DEEPEST = 40


def is_line(text: str) -> bool:
    """Whether a text has such counts."""
    return f'"{_KEY}"' in text


def windows_of(text: str) -> list[Window] | str:
    """A window for each answer in a line of JSON (also behind "data: " of a stream), or why there is none.

    The histogram says how many rounds accepted 0, 1 ... k tokens; all other counts follow from it.
    """
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    try:
        document = json.loads(text[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        return "the line is cut, or no JSON"
    found = [_window(entry) for entry in _entries(document, 0)]
    windows = [window for window in found if isinstance(window, Window)]
    reasons = [why for why in found if isinstance(why, str)]
    return windows or (reasons[0] if reasons else "no counts of speculative decoding in it")


def _entries(document: object, depth: int) -> Iterator[dict[str, object]]:
    if depth > _DEEPEST:
        return
    if isinstance(document, dict):
        if _KEY in document:
            yield document
            return
        for value in document.values():
            yield from _entries(value, depth + 1)
    elif isinstance(document, list):
        for value in document:
            yield from _entries(value, depth + 1)


def _window(entry: dict[str, object]) -> Window | str:
    histogram = entry[_KEY]
    if not isinstance(histogram, list) or len(histogram) < 2 or not all(_is_count(count) for count in histogram):
        return "the histogram is no list of counts"
    rounds, k = sum(histogram), len(histogram) - 1
    if not rounds:
        return "no round was made for this request"
    per_position = tuple(sum(histogram[i + 1 :]) for i in range(k))
    accepted, drafted = sum(per_position), entry.get("num_draft_tokens")
    if not _is_count(drafted) or not isinstance(drafted, int):
        drafted = k * rounds
    if not accepted <= drafted <= k * rounds:
        return f"{drafted} drafted tokens do not fit {accepted} accepted ones in {rounds} rounds of k={k}"
    said = entry.get("num_accepted_draft_tokens")
    if _is_count(said) and said != accepted:
        return f"the histogram adds up to {accepted} accepted tokens, not to {said}"
    return with_doubts(Window(rounds, accepted, drafted, per_position, k, source="request"))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15
