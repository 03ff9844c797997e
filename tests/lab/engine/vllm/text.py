"""Readable text that depends on the prompt alone: what the stand-in answers, token by token."""

import random
import re
from collections.abc import Iterator

_PIECE = re.compile(r"\s?\w{1,7}|\s?[^\w\s]|\s")
_TOPIC = re.compile(r"[^\W\d_]{5,}")
_NO_TOPICS = frozenset(
    {"about", "between", "could", "explain", "please", "should", "their", "there", "which", "would", "write"}
)
_OPENINGS = """\
In short,
As a rule,
In practice,
To begin with,
At first,
More often,
Even so,
Then
""".splitlines()
_SUBJECTS = """\
the question of {}
a careful look at {}
the usual idea of {}
everything about {}
one part of {}
the story behind {}
the cost of {}
a small example of {}
the first step with {}
what we know of {}
""".splitlines()
_VERBS = """\
depends on
leads back to
explains
is older than
needs
changes
rests on
often hides
""".splitlines()
_OBJECTS = """\
the numbers that were measured
a choice made long ago
patience and good notes
the order of the steps
the smallest case that fails
what the reader expects
two simple rules
the tools at hand
a table of examples
the weather of that week
people who ask twice
the size of the problem
""".splitlines()
_ENDINGS = (
    "",
    ", and that is enough for most uses",
    ", which is easy to check by hand",
    ", although exceptions are common",
    ", so it pays to write it down",
    ", as the next paragraph shows",
    ", at least on a good day",
)
_END_OF_TEXT_AFTER = (180, 700)
"""Tokens, from and to: about here the model would end its answer by itself."""


def count(text: str) -> int:
    """How many tokens a prompt has."""
    return len(_PIECE.findall(text))


def answer(prompt: str, variation: str) -> Iterator[str | None]:
    """Tokens of the answer, for ever; None is the end-of-text token, which may be ignored.

    variation: "" at temperature 0; another text gives another answer to the same prompt
    """
    chance = random.Random(f"{variation}\n{prompt}")
    words = dict.fromkeys(word.lower() for word in _TOPIC.findall(prompt))
    topics = [word for word in words if word not in _NO_TOPICS][-40:] or ["this"]
    end = chance.randint(*_END_OF_TEXT_AFTER)
    produced = 0
    while True:
        for piece in _PIECE.findall(_sentence(chance, topics, first=produced == 0)):
            produced += 1
            yield piece
        if produced >= end:
            yield None
            end = produced + chance.randint(*_END_OF_TEXT_AFTER)


def _sentence(chance: random.Random, topics: list[str], *, first: bool) -> str:
    subject = chance.choice(_SUBJECTS).format(chance.choice(topics))
    words = f"{subject} {chance.choice(_VERBS)} {chance.choice(_OBJECTS)}{chance.choice(_ENDINGS)}."
    if chance.random() < 0.3:
        words = f"{chance.choice(_OPENINGS)} {words}"
    space = "" if first else "\n\n" if chance.random() < 0.12 else " "
    return f"{space}{words[0].upper()}{words[1:]}"
