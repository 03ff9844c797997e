"""A log in large pieces that begin and end with a line, in one buffer."""

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


@dataclass(frozen=True)
class Block:
    """A piece of a log that begins with a line and ends with one, until the next piece is taken.

    buffer: the bytes, and WIDTH more behind `size`
    """

    buffer: bytearray
    size: int

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
        shape = (len(self.buffer) - WIDTH + 1, WIDTH)
        found: Bytes = np.ndarray(shape, np.uint8, self.buffer, strides=(1, 1))[starts]
        return found


def block_of(text: bytes) -> Block:
    """A text as a block."""
    return Block(bytearray(text) + bytes(WIDTH), len(text))


def blocks(file: "Readable", first: bytes = b"") -> Iterator[Block]:
    """What is in the file, behind what was read of it already. A line without an end is cut where the buffer is full.

    All blocks are in one buffer: each is gone when the next one is asked for.
    """
    buffer = bytearray(max(_SIZE, 2 * len(first)) + WIDTH)
    room = len(buffer) - WIDTH
    total = len(first)
    buffer[:total] = first
    more = True
    with memoryview(buffer) as view:
        while more:
            while more and total < room:
                got = file.readinto(view[total:room]) or 0
                more = got > 0
                total += got
            end = buffer.rfind(b"\n", 0, total) + 1 if more else total
            end = end or total
            if end:
                yield Block(buffer, end)
            view[: total - end] = bytes(view[end:total])
            total -= end
