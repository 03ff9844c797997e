"""A log in large pieces that begin and end with a line, in one buffer, with the places of its "%"."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from roles.acceptance.scan import Readable

    Bytes = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
    Places = np.ndarray[tuple[int, ...], np.dtype[np.intp]]

WIDTH = 512
"""Bytes of a row: a line and what follows it."""

_SIZE = 2 << 20
_PIECE = 128 << 10  # what a processor's nearest cache holds while it is looked through


@dataclass(frozen=True)
class Block:
    """A piece of a log that begins with a line and ends with one, until the next piece is taken.

    buffer:   the bytes, and WIDTH more behind `size`
    chars:    the same as an array
    percents: where its "%" are
    """

    buffer: bytearray
    chars: "Bytes"
    size: int
    percents: "Places"

    def line_of(self, at: int) -> bytes:
        """The whole line with its end, of any of its bytes."""
        return bytes(self.buffer[self.begin_of(at) : self.end_of(at)])

    def begin_of(self, at: int) -> int:
        """Where the line of a byte begins."""
        return self.buffer.rfind(b"\n", 0, at) + 1

    def end_of(self, at: int) -> int:
        """Where the line after that of a byte begins."""
        return self.buffer.find(b"\n", at, self.size) + 1 or self.size

    def rows(self, starts: "Places") -> "Bytes":
        """A row of WIDTH bytes from each of these places, (starts, WIDTH)."""
        shape = (len(self.chars) - WIDTH + 1, WIDTH)
        found: Bytes = np.ndarray(shape, np.uint8, self.buffer, strides=(1, 1))[starts]
        return found


def block_of(text: bytes) -> Block:
    """A text as a block."""
    buffer = bytearray(text) + bytes(WIDTH)
    chars = np.frombuffer(buffer, dtype=np.uint8)
    return Block(buffer, chars, len(text), np.flatnonzero(chars == ord("%")))


def blocks(file: "Readable", first: bytes = b"") -> Iterator[Block]:
    """What is in the file, behind what was read of it already. A line without an end is cut where the buffer is full.

    All blocks are in one buffer: each is gone when the next one is asked for.
    """
    buffer = bytearray(max(_SIZE, 2 * len(first)) + WIDTH)
    chars = np.frombuffer(buffer, dtype=np.uint8)
    flags = np.empty(_PIECE, dtype=np.bool_)
    room = len(buffer) - WIDTH
    total = len(first)
    buffer[:total] = first
    percents = [np.flatnonzero(chars[:total] == ord("%"))]
    more = True
    with memoryview(buffer) as view:
        while more:
            while more and total < room:
                got = _fill(file, view[total : min(total + _PIECE, room)])
                more = got > 0
                seen = np.equal(chars[total : total + got], ord("%"), out=flags[:got])
                percents.append(seen.nonzero()[0] + total)
                total += got
            end = buffer.rfind(b"\n", 0, total) + 1 if more else total
            end = end or total
            found = np.concatenate(percents)
            if end:
                yield Block(buffer, chars, end, found[: np.searchsorted(found, end)])
            percents = [found[np.searchsorted(found, end) :] - end]
            view[: total - end] = bytes(view[end:total])
            total -= end


def _fill(file: "Readable", view: memoryview) -> int:
    """Read until it is full or the file ends."""
    filled = 0
    while filled < len(view) and (got := file.readinto(view[filled:])):
        filled += got
    return filled
