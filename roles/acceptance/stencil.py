"""The shape of a spec line, digits left open: other lines of that shape are read without looking at each of them."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roles.acceptance import vllm_spec, vllm_v0
from roles.acceptance.envelope import unwrap

if TYPE_CHECKING:
    Rows = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
    Flags = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_ORIGIN = re.compile(rb"\[[\w./-]{0,80}metrics\.py:(\d{1,6})\] $")
_WORD = 8
_ROWS = 512  # a larger product is spread over threads, which costs more than it brings
_MEANS_MORE = re.compile(rb"\\[^n]|#0")  # escapes whose digits say what they are: colours as copies leave them

ACCEPTED, DRAFTED, ORIGIN, LENGTH, RATE, RATES = range(6)
"""Columns of a table; the rates of the positions begin at the last one."""


@dataclass(frozen=True)
class Stencil:
    """What all lines of a shape share.

    size:    bytes of the line and what follows it, in whole words
    length:  whether it prints a mean acceptance length
    """

    size: int
    length: bool
    fixed: "Rows"
    open: "Rows"
    """How far a byte may differ from `fixed`: a digit from "0" by nine, what follows the line by anything."""
    columns: "np.ndarray[tuple[int, ...], np.dtype[np.intp]]"
    weights: "Table"

    @staticmethod
    def of(line: bytes) -> "Stencil | None":
        """The shape of a whole line with its end; None for one that must be read alone.

        What a line means is found with regular expressions that treat all digits alike, so that lines which differ in
        digits only are read alike: this line's places are those of all of them.
        """
        begin = line.rfind(b"SpecDecoding metrics: ")
        if begin < 0 or not line.isascii() or b"\0" in line or _MEANS_MORE.search(line):
            return None
        text = unwrap(line).text
        if vllm_v0.is_line(text) or vllm_spec.stats_of(text, None) or text.count("SpecDecoding metrics: ") != 1:
            return None
        places = vllm_spec.places_of(text)
        shift = begin - text.find("SpecDecoding metrics: ")
        last = max(places.rate[1], places.rates[-1][1]) if places else 0
        if places is None or line[begin : last + shift].decode() != text[begin - shift : last]:
            return None
        spans = [places.accepted, places.drafted, (0, 0), places.length or (0, 0), places.rate, *places.rates]
        if any(start < begin - shift for start, end in spans if end):
            return None  # what is before the message may have lost colours: its places are others in the line
        figures = [(start + shift, end + shift) for start, end in spans]
        origin = _ORIGIN.search(line, 0, begin)
        figures[ORIGIN] = origin.span(1) if origin else (0, 0)
        columns, weights = _weights(line, figures)
        chars = np.frombuffer(line + bytes(-len(line) % _WORD), dtype=np.uint8)
        digits = (chars >= 48) & (chars <= 57)
        return Stencil(
            size=len(chars),
            length=places.length is not None,
            fixed=np.where(digits, 48, chars).astype(np.uint8),
            open=np.where(digits, 9, np.where(chars == 0, 255, 0)).astype(np.uint8),
            columns=columns,
            weights=weights,
        )

    def lay(self, rows: "Rows", scratch: "Flags") -> "tuple[Flags, Table]":
        """Which of the rows (a line's beginning each) are of this shape, and the figures of those that are.

        Figures are whole numbers: accepted, drafted, source line, hundredths of length, tenths of a percent of the rate
        and thousandths of the k rates; 0 for what the shape lacks. Both rows and scratch (as large) are written over.
        """
        difference = rows[:, : self.size]
        difference ^= self.fixed
        wrong = np.greater(difference, self.open, out=scratch[: len(rows), : self.size]).view(np.uint64)
        if not wrong.any():
            return np.ones(len(rows), dtype=np.bool_), self._figures(difference)
        fits = np.logical_not(wrong.any(axis=1))
        return fits, self._figures(difference[fits])

    def _figures(self, difference: "Rows") -> "Table":
        digits = difference.take(self.columns, axis=1).astype(np.float64)
        table = np.empty((len(digits), self.weights.shape[1]))
        for first in range(0, len(digits), _ROWS):
            np.matmul(digits[first : first + _ROWS], self.weights, out=table[first : first + _ROWS])
        return table


def _weights(
    line: bytes, figures: list[tuple[int, int]]
) -> "tuple[np.ndarray[tuple[int, ...], np.dtype[np.intp]], Table]":
    """Columns with digits of figures, and what a digit in each of them adds to each figure."""
    columns: list[int] = []
    entries: list[tuple[int, float]] = []
    for figure, (start, end) in enumerate(figures):
        digits = [at for at in range(start, end) if line[at : at + 1].isdigit()]
        columns += digits
        entries += [(figure, 10.0 ** (len(digits) - 1 - i)) for i in range(len(digits))]
    weights = np.zeros((len(columns), len(figures)))
    for row, (figure, weight) in enumerate(entries):
        weights[row, figure] = weight
    return np.array(columns, dtype=np.intp), weights
