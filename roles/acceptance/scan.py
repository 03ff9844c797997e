"""Reads log files of any size in constant memory: line by line, and large ones by searching them."""

import codecs
import gzip
import io
import os
import stat
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from roles.acceptance.loglines import LogReader

_SMALL = 8 << 20
"""A file up to here, and any stream up to here, is read with every line looked at."""
_HEAD = 128 << 10
"""Of a larger file this much: it says whose log it is and how its server was started."""
_TAIL = 64 << 10
_PIECE = 128 << 10
_GZIP = b"\x1f\x8b"


class Readable(Protocol):
    """What can be read: an open binary file, plain or compressed, stdin or a pipe."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the buffer as far as there is something; how much, 0 at the end."""


class _Unpacked:
    """A compressed file, as far as it is whole."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file

    def readinto(self, buffer: memoryview, /) -> int:
        """As a file does."""
        try:
            part = self._file.read1(len(buffer))  # one piece: what is read before an error is not lost with it
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return 0
        buffer[: len(part)] = part
        return len(part)


class _Utf16:
    """What PowerShell writes with >, as UTF-8."""

    def __init__(self, file: Readable) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-16")(errors="replace").decode
        self._pending = memoryview(b"")

    def readinto(self, buffer: memoryview, /) -> int:
        """As a file does."""
        part = bytearray(_PIECE)
        while not self._pending and (got := self._file.readinto(memoryview(part))):
            self._pending = memoryview(self._decode(part[:got]).encode("utf-8", errors="replace"))
        size = min(len(buffer), len(self._pending))
        buffer[:size] = self._pending[:size]
        self._pending = self._pending[size:]
        return size


def read_file(path: Path, reader: LogReader, number: int = 0) -> int:
    """Give the lines of a file (gzip is recognised by its first bytes) to the reader; returns how many were seen.

    Raises OSError for what cannot be opened. Lines are counted as long as all of them are looked at.
    """
    with ExitStack() as stack:
        raw = stack.enter_context(path.open("rb", buffering=0))
        kind = os.fstat(raw.fileno())
        if not stat.S_ISREG(kind.st_mode):
            return read_stream(raw, reader, number)
        first = raw.read(len(_GZIP))
        raw.seek(0)
        if first == _GZIP:
            return read_stream(_Unpacked(stack.enter_context(gzip.open(raw))), reader, number)
        if first in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
            return read_stream(_Utf16(raw), reader, number)
        return _read(raw, reader, number, _SMALL if kind.st_size <= _SMALL else _HEAD)


def read_stream(file: Readable, reader: LogReader, number: int = 0) -> int:
    """The same for what is open already."""
    return _read(file, reader, number, _SMALL)


def _read(file: Readable, reader: LogReader, number: int, whole: int) -> int:
    """Read the first `whole` bytes. Search the rest, if searching those would have found what was read in them."""
    head = _first(file, whole)
    cut = head.rfind(b"\n") + 1 if len(head) == whole else len(head)
    cut = cut or len(head)  # a line without an end
    had = reader.found
    number = _lines(head[:cut], reader, number)
    if len(head) < whole:
        return number
    from roles.acceptance.blocks import block_of, blocks
    from roles.acceptance.search import Search

    trial = LogReader()
    search = Search(trial, after_start=0)
    search.take(block_of(head[:cut]), number)
    search.end(number)
    search = Search(reader)
    trusted = trial.found == reader.found - had
    tail = b""
    for block in blocks(file, head[cut:]):
        if trusted:
            search.take(block, number)
            tail = bytes(block.buffer[max(0, block.size - _TAIL) : block.size])
        else:
            number = _lines(bytes(block.buffer[: block.size]), reader, number)
    search.end(number)
    reader.now(tail)  # how fast it is now stands in the last lines
    return number


def _first(file: Readable, size: int) -> bytes:
    buffer = bytearray(size)
    filled = 0
    with memoryview(buffer) as view:
        while filled < size and (got := file.readinto(view[filled:])):
            filled += got
    return bytes(buffer[:filled])


def _lines(text: bytes, reader: LogReader, number: int) -> int:
    for line in io.BytesIO(text):
        number += 1
        reader.line(number, line)
    return number
