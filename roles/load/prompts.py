"""Prompts to make load with: the fixed sets beside this file, a user's own file, and a digest of what was asked."""

import difflib
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, overload

from pydantic import BaseModel, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import ErrorDetails

from inventory.errors import UsageError

_FOLDER = Path(__file__).parent / "prompts"
_SHOWN_PROBLEMS = 20


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """One request to make. kind is its class ("prose", "code" ...): what acceptance depends on most.

    A raw prompt has one message, whose content goes to /v1/completions as it is, without the chat template.
    """

    id: str
    kind: str
    messages: tuple[Message, ...]
    raw: bool = False

    @classmethod
    def user(cls, text: str, *, name: str = "own", kind: str = "own", raw: bool = False) -> "Prompt":
        """A prompt of one turn, with `name` as its id."""
        return cls(name, kind, (Message("user", text),), raw)


class PromptSet(Sequence[Prompt]):
    """Prompts under a name, in the order in which they are sent."""

    def __init__(self, name: str, prompts: Sequence[Prompt]) -> None:
        self.name = name
        self._prompts = tuple(prompts)

    @overload
    def __getitem__(self, index: int) -> Prompt: ...
    @overload
    def __getitem__(self, index: slice) -> "PromptSet": ...
    def __getitem__(self, index: int | slice) -> "Prompt | PromptSet":
        """One prompt, or a part of the set under the same name: its digest tells it from the whole."""
        return PromptSet(self.name, self._prompts[index]) if isinstance(index, slice) else self._prompts[index]

    def __len__(self) -> int:
        return len(self._prompts)

    def __iter__(self) -> Iterator[Prompt]:
        return iter(self._prompts)


def set_names() -> tuple[str, ...]:
    """The fixed sets. A set never changes once it has been released: what is to be different gets another name."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.jsonl")))


def load_prompts(name_or_path: str = "std-50", limit: int | None = None) -> PromptSet:
    """A fixed set by name, or a JSONL file, with the classes interleaved so that any first N are a fair mix.

    A line of a file is {"messages": [{"role": ..., "content": ...}, ...]} or {"prompt": "..."}; "id" and "class" are
    optional, other keys are ignored. Both go through the model's chat template, as users' requests do; "raw": true
    sends a "prompt" without it. At most `limit` prompts come back, fewer where there are fewer.
    Raises UsageError with every line that cannot be used.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"{limit} prompts make no load", tries=["a number of at least 1"])
    path = _FOLDER / f"{name_or_path}.jsonl" if name_or_path in set_names() else Path(name_or_path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _no_such_set(name_or_path, error) from None
    prompts, problems = read_prompts(content)
    if problems:
        shown = problems[:_SHOWN_PROBLEMS]
        more = len(problems) - len(shown)
        raise UsageError(
            f"{path.name}: {len(problems)} {'line' if len(problems) == 1 else 'lines'} cannot be used as prompts",
            why=shown + ([f"and {more} more"] if more else []),
            tries=['one JSON object a line: {"prompt": "..."} or {"messages": [{"role": "user", "content": "..."}]}'],
        )
    if not prompts:
        raise UsageError(f"{path.name}: no prompts in it", tries=["std-50, the set that comes with specrail"])
    return PromptSet(path.stem, interleave(prompts)[:limit])


def read_prompts(content: bytes) -> tuple[list[Prompt], list[str]]:
    """The prompts of a JSONL file in its order, and a line of text for each line of it that is none."""
    prompts: dict[str, Prompt] = {}
    problems: list[str] = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            prompt = _Line.model_validate_json(line).prompt(f"line-{number}")
        except ValidationError as error:
            faults = (_in_words(found) for found in error.errors(include_url=False))
            problems.append(f"line {number}: {'; '.join(faults)}")
            continue
        if prompt.id in prompts:
            problems.append(f"line {number}: its id {prompt.id!r} is taken by a line before")
        else:
            prompts[prompt.id] = prompt
    return list(prompts.values()), problems


def interleave(prompts: Sequence[Prompt]) -> list[Prompt]:
    """The same prompts, each class spread evenly over the whole: the first N hold every class in proportion.

    Within a class, and where two classes are equally due, the order stays.
    """
    sizes = Counter(prompt.kind for prompt in prompts)
    seen: Counter[str] = Counter()
    places: list[tuple[float, Prompt]] = []
    for prompt in prompts:
        places.append(((seen[prompt.kind] + 0.5) / sizes[prompt.kind], prompt))
        seen[prompt.kind] += 1
    return [prompt for _, prompt in sorted(places, key=lambda place: place[0])]


def digest(prompts: Sequence[Prompt]) -> str:
    """What was asked, short: "std-50@c1f2a03b". Equal digests: the same messages in the same order."""
    asked = [[prompt.raw, [[message.role, message.content] for message in prompt.messages]] for prompt in prompts]
    name = prompts.name if isinstance(prompts, PromptSet) else "own"
    return f"{name}@{hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:8]}"


_Words = Annotated[str, StringConstraints(pattern=r"\S")]
_Label = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f]+$", max_length=100)]


class _Turn(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: _Words


class _Line(BaseModel):
    """A line of a prompts file; other keys than these are another program's business."""

    id: _Label | None = None
    kind: Annotated[_Label, Field(alias="class")] = "own"
    raw: bool = False
    prompt_text: Annotated[_Words | None, Field(alias="prompt")] = None
    messages: tuple[_Turn, ...] | None = None

    @model_validator(mode="after")
    def _one_thing_to_send(self) -> "_Line":
        if (self.messages is None) == (self.prompt_text is None):
            raise ValueError('either "messages" or "prompt" has to be there')
        if self.messages == ():
            raise ValueError("messages: there are none")
        if self.raw and self.messages:
            raise ValueError('"raw" goes with "prompt": messages need the chat template')
        if self.messages and self.messages[-1].role == "assistant":
            raise ValueError("the last message is the assistant's own: nothing is left to answer")
        return self

    def prompt(self, default_id: str) -> Prompt:
        turns = self.messages or (_Turn(role="user", content=self.prompt_text or ""),)
        messages = tuple(Message(turn.role, turn.content) for turn in turns)
        return Prompt(self.id or default_id, self.kind, messages, self.raw)


def _in_words(found: ErrorDetails) -> str:
    place = ".".join(str(part) for part in found["loc"])
    message = found["msg"].removeprefix("Value error, ").replace(" at line 1 column ", " at column ")
    if found["type"] == "string_pattern_mismatch":
        message = "nothing in it, or a control character" if place in {"id", "class"} else "nothing in it"
    return f"{place}: {message}" if place else message


def _no_such_set(name: str, error: OSError) -> UsageError:
    near = difflib.get_close_matches(name, set_names(), n=1)
    return UsageError(
        f"no prompts at {name!r}: neither a set nor a file that can be read",
        why=[f"as a file: {error.strerror or error}", f"sets: {', '.join(set_names())}"],
        tries=near or list(set_names()),
    )
