"""vLLM's spec lines in bulk: lines of one shape are laid on their stencil and counted with array operations."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roles.acceptance.blocks import WIDTH, Block
from roles.acceptance.rounding_many import Counted, counted
from roles.acceptance.stencil import ACCEPTED, DRAFTED, ORIGIN, Stencil
from roles.acceptance.window import Window, with_doubts

if TYPE_CHECKING:
    from roles.acceptance.loglines import LogReader

    Places = np.ndarray[tuple[int, ...], np.dtype[np.intp]]
    Lengths = np.ndarray[tuple[int, ...], np.dtype[np.uint16]]
    Rows = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
    Flags = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

SPEC = re.compile(rb"Mean acceptance length: ")
"""In every spec line of a server."""

_LETTER, _AFTER = b"M", b"ean acceptance length: "  # a letter is searched for faster than a word, where it is rare
_MOST_MISSES = 500  # in a block

_MOST_SHAPES = 256
_ENOUGH = 2048  # lines that are worth the array operations, and fit a processor's cache
_WINDOWS = 2  # of so many lines: what is told apart in time


@dataclass(frozen=True)
class _Group:
    """Lines with equal k, with a printed length or without: which of the rows they are, in order, and their figures."""

    members: "Places"
    table: "Table"
    length: bool

    def after(self, member: int) -> "_Group":
        chosen = self.members > member
        return _Group(self.members[chosen], self.table[chosen], self.length)


class Bulk:
    """Finds the spec lines of blocks and gives them to a reader: added up where they have a shape, else one by one.

    All that is large is in arrays that are made once: getting memory anew costs more than what is done in it.
    """

    def __init__(self, reader: "LogReader") -> None:
        self.reader = reader
        self._shapes: dict[int, list[Stencil]] = {}
        self._known = 0
        self._rows = np.empty((_ENOUGH, WIDTH), dtype=np.uint8)
        self._lengths = np.empty(_ENOUGH, dtype=np.uint16)
        self._scratch = (np.empty_like(self._rows), np.empty(self._rows.shape, dtype=np.bool_))
        self._long: dict[int, bytes] = {}
        self._many = 0
        self._before = b""

    def take(self, block: Block, begin: int, end: int, number: int) -> None:
        """Collect the spec lines between two ends of lines; number is for messages."""
        lines = _spec_lines(block, begin, end)
        starts = np.array(lines[::2], dtype=np.intp)
        ends = np.array(lines[1::2], dtype=np.intp)
        while len(starts):
            room = _ENOUGH - self._many
            self._collect(block, starts[:room], ends[:room])
            starts, ends = starts[room:], ends[room:]
            if self._many == _ENOUGH:
                self.flush(number)

    def flush(self, number: int) -> None:
        """Give what was collected."""
        if not self._many:
            return
        groups: dict[tuple[int, bool], list[_Group]] = {}
        alone = dict(self._long)
        for length, members in _by_length(self._lengths[: self._many]):
            for lines in self._laid(length, members, alone):
                groups.setdefault((lines.table.shape[1], lines.length), []).append(lines)
        self._count([_joined(lines) for lines in groups.values()], alone, number)
        self._long, self._many = {}, 0

    def _collect(self, block: Block, starts: "Places", ends: "Places") -> None:
        """Copy lines into rows; those that do not fit are kept as they are, with a length that no row has."""
        lengths = ends - starts
        for i in (lengths > WIDTH).nonzero()[0]:
            self._long[self._many + int(i)] = block.line_of(int(starts[i]))
        end = self._many + len(starts)
        self._rows[self._many : end] = block.rows(starts)
        self._lengths[self._many : end] = np.minimum(lengths, WIDTH + 1)
        self._many = end
        self._before = block.line_of(int(starts[-1]) - 1) if starts[-1] else b""

    def _line(self, member: int) -> bytes:
        return self._long.get(member) or self._rows[member, : self._lengths[member]].tobytes()

    def _laid(self, length: int, left: "Places", alone: dict[int, bytes]) -> Iterator[_Group]:
        """Lines that have a shape; the others are put into `alone`."""
        tried = 0
        while len(left):
            shapes = self._shapes.setdefault(length, [])
            if tried == len(shapes):
                line = self._line(int(left[0]))
                shape = Stencil.of(line) if length <= WIDTH else None
                if shape is None:
                    alone[int(left[0])] = line
                    left = left[1:]
                    continue
                if self._known == _MOST_SHAPES:
                    self._shapes, self._known, tried = {length: (shapes := [])}, 0, 0
                self._known += 1
                shapes.append(shape)
            rows = self._rows.take(left, axis=0, out=self._scratch[0][: len(left)], mode="clip")
            fits, table = shapes[tried].lay(rows, self._scratch[1])
            if len(table):
                yield _Group(left[fits], table, shapes[tried].length)
                left = left[~fits]
            tried += 1

    def _count(self, groups: list[_Group], alone: dict[int, bytes], number: int) -> None:
        """In the order of the log as far as it matters: a line may show that drafts after it can be shorter than k."""
        unequal = self.reader.unequal
        results = [counted(lines.table, length=lines.length, unequal=unequal) for lines in groups]
        odd = {int(i) for lines, found in zip(groups, results, strict=True) for i in lines.members[~found.good]}
        turned = self._many
        for member in sorted(odd.union(alone)):
            self.reader.line(number, self._line(member))
            if self.reader.unequal != unequal:
                turned = member
                break
        windows: list[tuple[int, int, Window]] = []
        for lines, found in zip(groups, results, strict=True):
            windows += _windows(lines, found, found.good & (lines.members < turned))
        given = [(window, many, self._line(last)) for last, many, window in sorted(windows, key=lambda one: one[0])]
        self.reader.batch(given, self._before, number)
        if turned < self._many:
            later = {member: line for member, line in alone.items() if member > turned}
            self._count([lines.after(turned) for lines in groups], later, number)


def _spec_lines(block: Block, begin: int, end: int) -> list[int]:
    """Beginning and end of each spec line, one after the other."""
    find, rfind, is_here = block.buffer.find, block.buffer.rfind, block.buffer.startswith
    lines: list[int] = []
    misses = 0
    at = find(_LETTER, begin, end)
    while at >= 0:
        if is_here(_AFTER, at + 1):
            last = find(b"\n", at, end) + 1 or end
            lines += (rfind(b"\n", begin, at) + 1 or begin, last)
            at = find(_LETTER, last, end)
        elif misses < _MOST_MISSES:
            misses += 1
            at = find(_LETTER, at + 1, end)
        else:
            found = SPEC.search(block.buffer, at, end)
            at = found.start() if found else -1
    return lines


def _by_length(lengths: "Lengths") -> "Iterator[tuple[int, Places]]":
    """Lines of equal length."""
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    for group in np.split(order, (ordered[1:] != ordered[:-1]).nonzero()[0] + 1):
        yield int(lengths[group[0]]), group


def _joined(parts: list[_Group]) -> _Group:
    members = np.concatenate([part.members for part in parts])
    order = np.argsort(members, kind="stable")
    return _Group(members[order], np.concatenate([part.table for part in parts])[order], parts[0].length)


def _windows(lines: _Group, found: Counted, chosen: "Flags") -> Iterator[tuple[int, int, Window]]:
    """(last line, how many, window) of neighbouring lines, those of another place in vLLM's source apart."""
    origins = lines.table[:, ORIGIN]
    (left,) = chosen.nonzero()
    while len(left):
        same = origins[left] == origins[left[0]]
        some, left = left[same], left[~same]
        for part in np.array_split(some, max(1, _WINDOWS * len(some) // _ENOUGH)):
            yield int(lines.members[part[-1]]), len(part), _window(lines.table[part], found, part)


def _window(table: "Table", found: Counted, part: "Places") -> Window:
    """These lines added up, with the doubts that any of them has."""
    rounds, fewest, most = (int(figures[part].sum()) for figures in (found.rounds, found.fewest, found.most))
    counts = found.per_position[part].sum(axis=0).astype(int).tolist()
    spread = int(found.spread[part].max())
    doubts = []
    if fewest < most:
        doubts.append(f"rounds are between {fewest} and {most}: drafts of unequal length, from rounded figures")
    if spread:
        doubts.append(f"per-position counts are within {spread} rounds (the log prints three digits)")
    accepted, drafted = (int(table[:, column].sum()) for column in (ACCEPTED, DRAFTED))
    return with_doubts(
        Window(rounds, accepted, drafted, tuple(counts), len(counts), source="log", doubts=tuple(doubts))
    )
