"""One event of an answer, from JSON to the few things in it that count."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

_EXCERPT_CHARACTERS = 300


class UnreadableError(ValueError):
    """A payload that is not what an engine sends; says what it is instead."""


@dataclass(frozen=True, slots=True)
class Event:
    """What an event of /v1/completions or /v1/chat/completions says (vLLM, SGLang). Only choice 0 is read."""

    model: str | None = None
    chosen: bool = False
    """Whether it is about choice 0 at all (usage and keep-alives are not)."""
    text: str = ""
    reasoning: str = ""
    """From `reasoning` or, as it was called before, `reasoning_content`."""
    calls_tool: bool = False
    finish_reason: str | None = None
    usage: tuple[int | None, int | None] | None = None
    """Prompt tokens, completion tokens."""
    error: str | None = None
    drafts: tuple[int, ...] = ()
    """How many rounds had 0, 1, 2 ... drafted tokens accepted (SGLang from 0.5.19, for return_spec_tokens_details)."""

    @property
    def generated(self) -> bool:
        """Whether tokens came with it."""
        return bool(self.text or self.reasoning or self.calls_tool)


def read(payload: str) -> Event:
    """The event that a payload is, or the body of an answer that was not streamed. Raises UnreadableError."""
    try:
        body = json.loads(payload)
    except (ValueError, RecursionError):
        raise UnreadableError(f"not JSON: {excerpt(payload)}") from None
    if not isinstance(body, dict):
        raise UnreadableError(f"not an object: {excerpt(payload)}")
    if body.get("error") or body.get("object") == "error":
        return Event(error=error_message(body))
    model, usage, choices = body.get("model"), body.get("usage"), body.get("choices")
    model = model if isinstance(model, str) else None
    counts = _usage(usage) if isinstance(usage, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or choice.get("index", 0) != 0:
        return Event(model=model, usage=counts, drafts=_drafts(body.get("sglext")))
    part = choice.get("delta") or choice.get("message")
    if not isinstance(part, dict):
        part = {"content": choice.get("text")}
    reason = choice.get("finish_reason")
    return Event(
        model=model,
        chosen=True,
        text=_text(part.get("content")),
        reasoning=_text(part.get("reasoning") or part.get("reasoning_content")),
        calls_tool=bool(part.get("tool_calls")),
        finish_reason=reason if isinstance(reason, str) else None,
        usage=counts,
        drafts=_drafts(body.get("sglext")),
    )


def error_message(body: Mapping[str, object]) -> str:
    """What {"error": {"message": M}}, {"error": M}, {"object": "error", "message": M} or {"detail": M} says."""
    error = body.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    return excerpt(str(message or body.get("message") or body.get("detail") or body))


def excerpt(text: str | bytes) -> str:
    """The beginning of a text as one printable line: what a server sends must not steer a terminal."""
    line = text[: 4 * _EXCERPT_CHARACTERS]
    if isinstance(line, bytes):
        line = line.decode("utf-8", "replace")
    line = " ".join(line.split())
    line = "".join(character if character.isprintable() else "?" for character in line)
    return line if len(line) <= _EXCERPT_CHARACTERS else line[: _EXCERPT_CHARACTERS - 1] + "…"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _usage(usage: Mapping[str, object]) -> tuple[int | None, int | None]:
    return _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))


def _drafts(extension: object) -> tuple[int, ...]:
    details = extension.get("spec_tokens_details") if isinstance(extension, dict) else None
    histogram = details.get("spec_correct_drafts_histogram") if isinstance(details, dict) else None
    counts = [_count(value) for value in histogram] if isinstance(histogram, list) else []
    return tuple(count for count in counts if count is not None) if None not in counts else ()


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
