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
_LONGEST = 400


def table_of(text: bytes, k: int) -> "Table":
    """Rows of accepted, drafted, k rates and the closing rate, one for each line with "Per-position".

    A line that does not have k rates, or is cut, gives a row of zeros: figures that do not agree with each other.
    """
    given = np.frombuffer(text, dtype=np.uint8)
    dashes = np.flatnonzero((given[1:-1] == 45) & (given[:-2] == 114) & (given[2:] == 112)).astype(np.int64) + 1  # r-p
    chars = np.concatenate([np.full(_LONGEST, 32, np.uint8), given, np.full(_LONGEST, 32, np.uint8)])
    at = dashes + _LONGEST
    drafted, length = _whole(chars, at - _TO_DRAFTED)
    accepted, _ = _whole(chars, at - _TO_DRAFTED - length + 1 - _TO_ACCEPTED)
    first = at + _TO_RATES
    places = first[:, None] + 7 * np.arange(k)[None, :]
    digits = [chars[places + i].astype(np.int64) - 48 for i in (0, 2, 3, 4)]
    rates = digits[0] + digits[1] / 10 + digits[2] / 100 + digits[3] / 1000
    end = first + 7 * k - 2
    closing = _closing(chars, end + _TO_CLOSING)
    whole = (chars[places + 1] == 46).all(axis=1) & np.all([(d >= 0) & (d <= 9) for d in digits], axis=(0, 2))
    whole &= (chars[end] == 44) & (chars[end + 2] == 65)  # ", A": the list ends here
    table: Table = np.column_stack([accepted, drafted, rates, closing])
    table[~whole] = 0.0
    return table


def _whole(chars: "Bytes", last: "Positions") -> "tuple[Table, Positions]":
    """Whole numbers that end at these positions, and how many digits they have."""
    digits = chars[last[:, None] - np.arange(_MOST_DIGITS)[None, :]].astype(np.int64) - 48
    inside = np.cumprod((digits >= 0) & (digits <= 9), axis=1)
    return (digits * inside * 10.0 ** np.arange(_MOST_DIGITS)).sum(axis=1), inside.sum(axis=1)


def _closing(chars: "Bytes", first: "Positions") -> "Table":
    """Rates with one decimal ("5.1", "42.9", "100.0") that begin at these positions; -1 for what is none."""
    result: Table = np.full(len(first), -1.0)
    for digits in (1, 2, 3):
        here = (chars[first + digits] == 46) & (chars[first + digits + 2] == 37)
        value = np.zeros(len(first))
        for i in (*range(digits), digits + 1):
            value = value * 10 + (chars[first + i].astype(np.int64) - 48)
        result[here] = value[here] / 10
    return result
