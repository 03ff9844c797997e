"""Reads single values out of JSON in which anything may be missing or of another kind."""

from collections.abc import Mapping, Sequence
from math import isfinite


def at(document: object, *path: str) -> object:
    """The value below these keys; None where there is none."""
    for key in path:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def number(document: object, *path: str) -> float | None:
    """The number below these keys; None also for one that no measurement gives and arithmetic would not survive."""
    value = at(document, *path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if value == 0 or (1e-12 < abs(value) < 1e15 and isfinite(value)) else None


def whole(document: object, *path: str) -> int | None:
    """The whole number below these keys."""
    value = number(document, *path)
    return None if value is None else round(value)


def text(document: object, *path: str) -> str | None:
    """The text below these keys; None for an empty one."""
    value = at(document, *path)
    return value if isinstance(value, str) and value else None


def row(document: object, *path: str) -> Sequence[object]:
    """The list below these keys; () where there is none."""
    value = at(document, *path)
    return value if isinstance(value, list | tuple) else ()


def known(values: Mapping[str, object]) -> dict[str, object]:
    """Without what is None: what is left out is unknown."""
    return {name: value for name, value in values.items() if value is not None}
