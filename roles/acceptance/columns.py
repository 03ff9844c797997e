"""The figures of many spec lines as one table, cut out of the text by position: no line is looked at alone."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    Positions = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    Bytes = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]

_MOST_DIGITS = 12
_TO_DRAFTED = len(" tokens, Per") + 1  # from the dash of "Per-position" back to the last digit before it
_TO_ACCEPTED = len(" tokens, Drafted: ") + 1
_TO_RATES = len("-position acceptance rate: ")
_TO_CLOSING = len(", Avg Draft acceptance rate: ")
_POINT, _DASH, _COMMA, _SPACE, _PERCENT = (ord(char) - 48 for char in ".-, %")


def table_of(text: bytes, k: int) -> "Table":
    """Rows of accepted, drafted, k rates and the closing rate, one for each line that ends with "%".

    A line that does not have k rates, or is cut, gives a row of zeros: figures that do not agree with each other.
    """
    chars = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(chars == 10).astype(np.int64)
    closing, first = _closing(chars, ends)
    rates_end = first - _TO_CLOSING
    at = rates_end - (7 * k - 2) - _TO_RATES  # the dash of "Per-position"
    drafted, length = _whole(chars, at - _TO_DRAFTED)
    accepted, _ = _whole(chars, at - _TO_DRAFTED - length + 1 - _TO_ACCEPTED)
    places = (at + _TO_RATES)[:, None] + 7 * np.arange(k)[None, :]
    digits = [_at(chars, places + i) for i in (0, 2, 3, 4)]
    rates = digits[0] + digits[1] / 10 + digits[2] / 100 + digits[3] / 1000
    whole = (_at(chars, places + 1) == _POINT).all(axis=1) & (_at(chars, at) == _DASH) & (closing >= 0)
    whole &= (_at(chars, rates_end) == _COMMA) & np.all([(d >= 0) & (d <= 9) for d in digits], axis=(0, 2))
    table: Table = np.column_stack([accepted, drafted, rates, closing])
    table[~whole] = 0.0
    return table


def _at(chars: "Bytes", places: "Positions") -> "Positions":
    """Characters, as their distance from "0": digits are their own value."""
    found: Positions = chars.take(places, mode="clip").astype(np.int64) - 48
    return found


def _whole(chars: "Bytes", last: "Positions") -> "tuple[Table, Positions]":
    """Whole numbers that end at these positions, and how many digits they have."""
    digits = _at(chars, last[:, None] - np.arange(_MOST_DIGITS)[None, :])
    inside = np.cumprod((digits >= 0) & (digits <= 9), axis=1)
    return (digits * inside) @ 10.0 ** np.arange(_MOST_DIGITS), inside.sum(axis=1)


def _closing(chars: "Bytes", ends: "Positions") -> "tuple[Table, Positions]":
    """The rate before each line's end ("5.1%", "42.9%", "100.0%"; -1 for none), and where it begins."""
    tenths, point, percent = (_at(chars, ends - i) for i in (2, 3, 1))
    ones, tens, hundreds = (_at(chars, ends - i) for i in (4, 5, 6))
    length = np.where(tens == _SPACE, 1, np.where(hundreds == _SPACE, 2, 3))
    value = ones + 10 * np.where(length > 1, tens, 0) + 100 * np.where(length > 2, hundreds, 0) + tenths / 10
    good = (point == _POINT) & (percent == _PERCENT) & (value >= 0) & (value <= 100)
    return np.where(good, value, -1.0), ends - 3 - length
