"""Figures that are true and not enough for a window."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Fragment:
    """What a line says without saying all that a window needs; None for what it does not say.

    number: of the line, 1-based
    said:   what is missing, in words
    length: acceptance length as printed, bonus included
    """

    number: int
    said: str
    rounds: int | None = None
    accepted: int | None = None
    drafted: int | None = None
    k: int | None = None
    length: float | None = None


def total(values: Sequence[int | None]) -> int | None:
    """Their sum; None when one of them is not known, or there is none."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
