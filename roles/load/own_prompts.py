"""A user's own prompts: a JSONL file, or a file of ShareGPT's conversations."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from inventory.errors import UsageError
from roles.load.prompts import Prompt, PromptSet, load_prompts

_SHORTEST_TOKENS, _LONGEST_TOKENS = 4, 1024
_CHARACTERS_A_TOKEN = 4  # there is no tokenizer here; English has about that many
_HUMAN = ("human", "user")


def load_own(path: str, limit: int | None = None, *, seed: int = 0) -> PromptSet:
    """The prompts in a file; at most `limit`, of a ShareGPT file drawn with `seed`. A JSONL file is load_prompts'.

    Raises UsageError for a file that cannot be read or has none.
    """
    try:
        with Path(path).open("rb") as file:
            is_list = file.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
            content = b"" if not is_list else Path(path).read_bytes()
    except OSError:
        is_list = False  # load_prompts says what is wrong with it, and what there is instead
    if not is_list:
        return load_prompts(path, limit)
    try:
        conversations = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
    found = list(read_sharegpt(conversations))
    if not found:
        raise UsageError(
            f"{path}: no conversation in it can be used",
            why=["wanted: a list of {conversations: [{from: human, value: TEXT}, {from: gpt, value: TEXT}]}"],
        )
    order = np.random.default_rng(seed).permutation(len(found))[:limit]
    return PromptSet(Path(path).stem, [found[place] for place in order])


def read_sharegpt(conversations: list[object]) -> Iterator[Prompt]:
    """The first turn of each conversation that begins with a person's and has an answer.

    As `vllm bench serve --dataset-name sharegpt` does it: too short and too long ones (4 to 1024 tokens, here taken for
    4 characters each) are left out. Ids are the file's own, or the conversation's place.
    """
    taken: set[str] = set()
    for place, conversation in enumerate(conversations):
        turns = conversation.get("conversations") if isinstance(conversation, dict) else None
        if not isinstance(conversation, dict) or not isinstance(turns, list) or len(turns) < 2:
            continue
        first = turns[0]
        text = first.get("value") if isinstance(first, dict) and first.get("from") in _HUMAN else None
        if not isinstance(text, str) or not _fits(text):
            continue
        name = conversation.get("id")
        name = name if isinstance(name, str) and name.isprintable() and name not in taken else f"conversation-{place}"
        taken.add(name)
        yield Prompt.user(text, name=name, kind="sharegpt")


def _fits(text: str) -> bool:
    return bool(text.strip()) and _SHORTEST_TOKENS <= len(text) / _CHARACTERS_A_TOKEN <= _LONGEST_TOKENS
