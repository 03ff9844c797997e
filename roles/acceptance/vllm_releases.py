"""Which vLLM wrote a log: its own words, or the line numbers of its log calls."""

import re
from collections.abc import Mapping

# Releases in order, with the lines in loggers.py and metrics.py that print statistics (read in the wheels).
_RELEASES: tuple[tuple[str, int, int], ...] = (
    ("0.8.5", 111, 82),
    ("0.9.0", 116, 86),
    ("0.9.2", 118, 87),
    ("0.10.0", 122, 87),
    ("0.10.1", 123, 87),
    ("0.10.2", 123, 96),
    ("0.11.0", 127, 96),
    ("0.11.2", 236, 100),
    ("0.12.0", 236, 100),
    ("0.14.1", 257, 100),
    ("0.16.0", 259, 100),
    ("0.18.1", 259, 100),
    ("0.19.1", 259, 101),
    ("0.20.0", 271, 101),
    ("0.23.0", 271, 101),
    ("0.24.0", 273, 120),
    ("0.25.0", 273, 120),
    ("0.26.0", 310, 120),
    ("0.29.0", 310, 120),
    ("0.30.0", 315, 120),
    ("0.31.0", 320, 120),
    ("0.32.0", 335, 120),
    ("0.33.0", 335, 120),
)
_COLUMN = {"loggers.py": 1, "metrics.py": 2}
_SAID = re.compile(
    r"(?:API server version|LLM engine \(v|\bvLLM (?:version|v))\s*:?\s*"
    r"(\d+\.\d+\.\d+(?:\.?(?:post|rc|dev)\d+)*(?:\+[\w.]+)?)"
)

Span = tuple[str, str]
"""First and last release that fit; the same twice when it is known exactly."""


def said_version(text: str) -> str | None:
    """The version that a start-up line names; None for any other line."""
    found = _SAID.search(text)
    return found[1] if found else None


def from_origins(origins: Mapping[str, int]) -> Span | None:
    """Releases whose log calls stand in these lines: {"loggers.py": 271, "metrics.py": 101} is 0.20.0 to 0.23.0."""
    known = {file: line for file, line in origins.items() if file in _COLUMN}
    if not known:
        return None
    fitting = [row[0] for row in _RELEASES if all(row[_COLUMN[file]] == line for file, line in known.items())]
    return (fitting[0], fitting[-1]) if fitting else None


def as_text(span: Span) -> str:
    """ "0.20.0-0.23.0", or one release."""
    return span[0] if span[0] == span[1] else f"{span[0]}-{span[1]}"


def number(version: str) -> tuple[int, ...]:
    """The first three parts, to compare: (0, 26, 0) for "0.26.0rc1"."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def differ(one: str, other: str) -> bool:
    """Whether two texts of `as_text` (or what engines say of themselves) cannot be the same release."""
    low, high = _span(one)
    other_low, other_high = _span(other)
    if not low or not other_low:
        return one != other
    return high < other_low or other_high < low


def _span(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    parts = re.findall(r"\d+\.\d+\.\d+", text)
    return (number(parts[0]), number(parts[-1])) if parts else ((), ())
