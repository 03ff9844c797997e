"""Reads the next token of a stream without parsing JSON again: what stands around the text seldom changes.

The events of one answer differ in one string. Once one is parsed, the ends of its payload are known, and a payload
with the same ends and a plain string between them is the same JSON with another text. That costs a tenth of json.loads;
at many streams parsing is what a load client spends its time on, and its own time is what it must not measure.
"""

import json
from dataclasses import dataclass, replace
from typing import Literal

from roles.load.event import Event, read

_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the text in the events of a stream; the quotes belong to them."""

    prefix: str
    suffix: str
    what: Literal["text", "reasoning"]

    def text_in(self, payload: str) -> str | None:
        """The text of an event that differs from the learnt one in nothing else. None: it has to be parsed."""
        if not (payload.startswith(self.prefix) and payload.endswith(self.suffix)):
            return None
        text = payload[len(self.prefix) : -len(self.suffix)]
        # Empty: no token, or the ends overlap. Quotes and escapes need the parser, control characters are not JSON.
        if not text or '"' in text or "\\" in text or not text.isprintable():
            return None
        return text


def learn(payload: str, event: Event) -> Frame | None:
    """The frame of `payload`, which reads as `event`; None when it says more than one text, or where is not certain."""
    if event.finish_reason or event.usage or event.calls_tool or bool(event.text) == bool(event.reasoning):
        return None
    what: Literal["text", "reasoning"] = "text" if event.text else "reasoning"
    # The proof, once a place is found: another text there must read as this event with that text.
    other = f"{event.text or event.reasoning}?"
    expected = replace(event, text=other) if event.text else replace(event, reasoning=other)
    for name in ("content", "text") if event.text else ("reasoning", "reasoning_content"):
        _, found, after = payload.partition(f'"{name}":')
        literal = after.lstrip(" ")
        if not (found and literal.startswith('"')):
            continue
        try:
            _, end = _DECODER.raw_decode(literal)
            frame = Frame(payload[: len(payload) - len(literal) + 1], literal[end - 1 :], what)
            if read(frame.prefix + json.dumps(other)[1:-1] + frame.suffix) == expected:
                return frame
        except ValueError:
            continue
    return None
