"""Values of a wanted type out of JSON that anybody may have written: a wrong type counts as absent, never raises."""

from collections.abc import Mapping

LARGEST = 2**53
"""Integers beyond it are no size, id or count that a model can have; they count as absent."""


def mapping(value: object) -> Mapping[str, object]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def is_integer(value: object) -> bool:
    """Whether it is a whole number of a sane size (a bool is none)."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST


def integer(config: Mapping[str, object], key: str) -> int | None:
    """The integer at `key`."""
    value = config.get(key)
    return value if isinstance(value, int) and is_integer(value) else None


def number(config: Mapping[str, object], key: str) -> float | None:
    """The number at `key`; None for NaN and the infinities too."""
    value = config.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not -LARGEST < value < LARGEST:
        return None
    return float(value)


def boolean(config: Mapping[str, object], key: str) -> bool | None:
    """The bool at `key`."""
    value = config.get(key)
    return value if isinstance(value, bool) else None


def text(config: Mapping[str, object], key: str) -> str | None:
    """The string at `key`."""
    value = config.get(key)
    return value if isinstance(value, str) else None


def integers(config: Mapping[str, object], key: str) -> tuple[int, ...] | None:
    """The list of integers at `key`; None when any element is something else."""
    value = config.get(key)
    if not isinstance(value, list | tuple):
        return None
    whole = tuple(one for one in value if isinstance(one, int) and is_integer(one))
    return whole if len(whole) == len(value) else None


def texts(config: Mapping[str, object], key: str) -> tuple[str, ...] | None:
    """The list of strings at `key`; None when any element is something else."""
    value = config.get(key)
    if not isinstance(value, list | tuple):
        return None
    words = tuple(one for one in value if isinstance(one, str))
    return words if len(words) == len(value) else None
