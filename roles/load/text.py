"""Tells text from what a broken model writes: loops, and salad of many scripts."""

import unicodedata
import zlib
from collections import Counter

_LONGEST_PERIOD = 120  # characters; a sentence
_LEAST_REPEATS = 6
_LEAST_LOOP_CHARACTERS = 60  # "----------" under a heading is no loop
_LOOP_SHARE = 0.25  # of the whole text
_LEAST_PACKED_CHARACTERS = 400
_PACKED_SHARE = 0.12  # German, Python and JSON stay above 0.25
_LEAST_WORDS = 60
_PART_WORDS = 200
_DISTINCT_SHARE = 0.4  # of 1,800 pieces of documents and code one was below: a table of numbers
_LEAST_TOKENS = 100
_LEAST_CHARACTERS_A_TOKEN = 2.0
_WORDS_SHARE = 0.6
_BROKEN_SHARE = 0.02
_SCRIPTS = 4
_SCRIPT_SHARE = 0.05  # of the letters
_LEAST_LETTERS = 60


def fault(text: str) -> str | None:
    """What is wrong with a generated text, in a few words; None when nothing is seen. Short texts are not judged."""
    return _loop(text) or _broken(text) or _salad(text)


def too_dense(text: str, tokens: int | None) -> str | None:
    """What is wrong when a text has too few characters for its tokens: most of them were nothing that is read.

    Words in Latin letters have three characters a token and more with every tokenizer in use; digits, Chinese and
    symbols have fewer, so only texts of such words are judged.
    """
    shown = sum(not character.isspace() for character in text)
    words = sum(character.isascii() and character.isalpha() for character in text)
    if tokens is None or tokens < _LEAST_TOKENS or words < _WORDS_SHARE * shown:
        return None
    if len(text) >= _LEAST_CHARACTERS_A_TOKEN * tokens:
        return None
    return f"{len(text)} characters for {tokens} tokens"


def _loop(text: str) -> str | None:
    text = text.rstrip()
    for period in range(1, min(_LONGEST_PERIOD, len(text) // _LEAST_REPEATS) + 1):
        length = _periodic_tail(text, period)
        if length >= max(_LEAST_REPEATS * period, _LEAST_LOOP_CHARACTERS, _LOOP_SHARE * len(text)):
            return f"ends in {text[-period:][:20]!r}, {length // period} times"
    if len(text) >= _LEAST_PACKED_CHARACTERS:
        content = text.encode("utf-8", "replace")
        if len(zlib.compress(content)) < _PACKED_SHARE * len(content):
            return "says the same again and again"
    return _few_phrases(text)


def _few_phrases(text: str) -> str | None:
    """The same few phrases in ever other orders, which have no period. A long text is read in parts."""
    words = text.split()
    parts = [words[start : start + _PART_WORDS] for start in range(0, len(words), _PART_WORDS)]
    runs = [list(zip(part, part[1:], part[2:], strict=False)) for part in parts if len(part) >= _LEAST_WORDS]
    shares = sorted(len(set(part)) / len(part) for part in runs)
    if not shares or shares[len(shares) // 2] >= _DISTINCT_SHARE:
        return None
    return f"only {100 * shares[len(shares) // 2]:.0f} % of its runs of three words are different"


def _periodic_tail(text: str, period: int) -> int:
    """Length of the longest end of `text` in which every character equals the one `period` before it."""
    # An end that has the period makes every shorter one have it: so bisect, with slices, which compare fast.
    low, high = period, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if text[len(text) - middle + period :] == text[len(text) - middle : len(text) - period]:
            low = middle
        else:
            high = middle - 1
    return low


def _broken(text: str) -> str | None:
    strange = sum(character == "�" or unicodedata.category(character) in {"Cc", "Co", "Cn"} for character in text)
    strange -= text.count("\n") + text.count("\t") + text.count("\r")
    if strange > max(3, _BROKEN_SHARE * len(text)):
        return f"{strange} of {len(text)} characters are no text"
    return None


def _salad(text: str) -> str | None:
    scripts = Counter(unicodedata.name(character, "?").split()[0] for character in text if character.isalpha())
    # Japanese is written in three, and they are one.
    scripts["CJK"] += scripts.pop("HIRAGANA", 0) + scripts.pop("KATAKANA", 0) + scripts.pop("KATAKANA-HIRAGANA", 0)
    letters = scripts.total()
    many = [script for script, count in scripts.items() if count >= _SCRIPT_SHARE * letters]
    if letters >= _LEAST_LETTERS and len(many) >= _SCRIPTS:
        return f"letters of {len(many)} scripts mixed"
    return None
