"""vLLM's spec lines in bulk: lines of one shape are laid on their stencil and counted with array operations."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roles.acceptance.blocks import WIDTH, Block
from roles.acceptance.rounding_many import Counted, counted
from roles.acceptance.stencil import ACCEPTED, ANCHOR, DRAFTED, ORIGIN, Stencil
from roles.acceptance.window import Window, with_doubts

if TYPE_CHECKING:
    from roles.acceptance.loglines import LogReader

    Places = np.ndarray[tuple[int, ...], np.dtype[np.intp]]
    Distances = np.ndarray[tuple[int, ...], np.dtype[np.uint16]]
    Rows = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
    Flags = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_MOST_SHAPES = 256
_ENOUGH = 2048  # lines that are worth the array operations, and fit a processor's cache
_WINDOWS = 2  # of so many lines: what is told apart in time
_FEWEST = len("acceptance rate: 0.0")


@dataclass(frozen=True)
class _Lines:
    """Lines with equal k, with a printed length or without: which of the rows they are, in order, and their figures."""

    members: "Places"
    table: "Table"
    length: bool

    def after(self, member: int) -> "_Lines":
        chosen = self.members > member
        return _Lines(self.members[chosen], self.table[chosen], self.length)


class Bulk:
    """Finds the spec lines of blocks and gives them to a reader: added up where they have a shape, else one by one.

    All that is large is in arrays that are made once: getting memory anew costs more than what is done in it.
    """

    def __init__(self, reader: "LogReader") -> None:
        self.reader = reader
        self._shapes: dict[int, list[Stencil]] = {}
        self._known = 0
        self._rows = np.empty((_ENOUGH, WIDTH), dtype=np.uint8)
        self._distances = np.empty(_ENOUGH, dtype=np.uint16)
        self._scratch = (np.empty_like(self._rows), np.empty(self._rows.shape, dtype=np.bool_))
        self._long: dict[int, bytes] = {}
        self._many = 0
        self._before = b""

    def take(self, block: Block, begin: int, end: int, number: int) -> None:
        """Collect the spec lines between two ends of lines; number is for messages."""
        anchors, starts = self._found(block, begin, end)
        while len(anchors):
            room = _ENOUGH - self._many
            self._collect(block, anchors[:room], starts[:room])
            anchors, starts = anchors[room:], starts[room:]
            if self._many == _ENOUGH:
                self.flush(number)

    def flush(self, number: int) -> None:
        """Give what was collected."""
        if not self._many:
            return
        groups: dict[tuple[int, bool], list[_Lines]] = {}
        alone: dict[int, bytes] = dict(self._long)
        for anchor, members in _by_anchor(self._distances[: self._many]):
            for lines in self._laid(anchor, members, alone):
                groups.setdefault((lines.table.shape[1], lines.length), []).append(lines)
        self._count([_joined(lines) for lines in groups.values()], alone, number)
        self._long, self._many = {}, 0

    def _collect(self, block: Block, anchors: "Places", starts: "Places") -> None:
        """Copy lines; those that may not fit into a row are kept as they are."""
        distances = np.minimum(anchors - starts, WIDTH)
        long = (block.chars[anchors + 1] != ord("\n")) | (distances >= WIDTH - 1)
        for i in long.nonzero()[0]:
            line = block.line_of(int(anchors[i]))
            if len(line) > WIDTH:
                self._long[self._many + int(i)] = line
                distances[i] = WIDTH
        end = self._many + len(starts)
        self._rows[self._many : end] = block.rows(starts)
        self._distances[self._many : end] = distances
        self._many = end
        self._before = block.line_of(int(starts[-1]) - 1) if starts[-1] else b""

    def _found(self, block: Block, begin: int, end: int) -> "tuple[Places, Places]":
        """Anchors, and where their lines begin.

        Nearly always the line before, with the statistics, ends with a "%" too. Where that does not give a distance
        that is known, the line's beginning is searched for.
        """
        anchors, previous = _find(block, begin, end)
        known = np.zeros(WIDTH + 1, dtype=np.bool_)
        known[list(self._shapes)] = True
        starts = previous + 2
        sure = (previous >= begin) & (block.chars[previous + 1] == ord("\n"))
        sure &= known[np.minimum(anchors - starts, WIDTH)]
        for i in (~sure).nonzero()[0]:
            starts[i] = max(begin, block.begin_of(int(anchors[i])))
        first = starts > np.concatenate(([-1], anchors[:-1]))  # of its line: lines may be glued together
        return anchors[first], starts[first]

    def _laid(self, anchor: int, left: "Places", alone: dict[int, bytes]) -> Iterator[_Lines]:
        """Lines that have a shape; the others are put into `alone`."""
        tried = 0
        while len(left):
            shapes = self._shapes.setdefault(anchor, [])
            if tried == len(shapes):
                line = alone.get(int(left[0])) or _line(self._rows[left[0]], anchor)
                shape = Stencil.of(line) if len(line) <= WIDTH else None
                if shape is None or shape.anchor != anchor:
                    alone[int(left[0])] = line
                    left = left[1:]
                    continue
                if self._known == _MOST_SHAPES:
                    self._shapes, self._known, tried = {anchor: (shapes := [])}, 0, 0
                self._known += 1
                shapes.append(shape)
            rows = self._rows.take(left, axis=0, out=self._scratch[0][: len(left)], mode="clip")
            fits, table = shapes[tried].lay(rows, self._scratch[1])
            if len(table):
                yield _Lines(left[fits], table, shapes[tried].length)
                left = left[~fits]
            tried += 1

    def _count(self, groups: list[_Lines], alone: dict[int, bytes], number: int) -> None:
        """In the order of the log as far as it matters: a line may show that drafts after it can be shorter than k."""
        unequal = self.reader.unequal
        results = [counted(lines.table, length=lines.length, unequal=unequal) for lines in groups]
        odd = {int(i): b"" for lines, found in zip(groups, results, strict=True) for i in lines.members[~found.good]}
        turned = self._many
        for member in sorted(odd | alone):
            line = alone.get(member) or _line(self._rows[member], 0)
            if ANCHOR.search(line):
                self.reader.line(number, line)
            if self.reader.unequal != unequal:
                turned = member
                break
        windows: list[tuple[int, int, Window]] = []
        for lines, found in zip(groups, results, strict=True):
            windows += _windows(lines, found, found.good & (lines.members < turned))
        given = [
            (window, many, _line(self._rows[last], 0)) for last, many, window in sorted(windows, key=lambda one: one[0])
        ]
        self.reader.batch(given, self._before, number)
        if turned < self._many:
            later = {member: line for member, line in alone.items() if member > turned}
            self._count([lines.after(turned) for lines in groups], later, number)


def _find(block: Block, begin: int, end: int) -> "tuple[Places, Places]":
    """The "%" behind "acceptance rate: " and a number of three to five characters, and the "%" before each."""
    first, last = np.searchsorted(block.percents, (begin + _FEWEST, end))
    places = block.percents[first:last]
    found = np.zeros(len(places), dtype=np.bool_)
    for digits in (3, 4, 5):
        found |= (block.chars[places - (digits + 8)] == ord("e")) & (block.chars[places - (digits + 3)] == ord("e"))
    (indices,) = found.nonzero()
    indices += first
    return block.percents[indices], np.where(indices > 0, block.percents[indices - 1], -1)


def _by_anchor(distances: "Distances") -> "Iterator[tuple[int, Places]]":
    """Lines whose anchor stands equally far from their beginning."""
    order = np.argsort(distances, kind="stable")
    ordered = distances[order]
    for group in np.split(order, np.diff(ordered).nonzero()[0] + 1):
        yield int(distances[group[0]]), group


def _line(row: "Rows", anchor: int) -> bytes:
    """The line of a row: from its beginning, or behind the last end of a line before the anchor."""
    text = row.tobytes()
    begin = text.rfind(b"\n", 0, anchor) + 1
    end = text.find(b"\n", begin) + 1
    return text[begin:end] if end else text[begin:].rstrip(b"\0")


def _joined(parts: list[_Lines]) -> _Lines:
    members = np.concatenate([part.members for part in parts])
    order = np.argsort(members, kind="stable")
    return _Lines(members[order], np.concatenate([part.table for part in parts])[order], parts[0].length)


def _windows(lines: _Lines, found: Counted, chosen: "Flags") -> Iterator[tuple[int, int, Window]]:
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
