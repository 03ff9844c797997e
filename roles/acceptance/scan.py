"""Reads log files of any size in constant memory: line by line, and large ones by searching them."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast

from roles.acceptance.bulk import Batch, Gatherer
from roles.acceptance.loglines import LogReader

_BLOCK = 256 << 10
LINE_BY_LINE = 2 << 20
"""Bytes of which every line is looked at: a server's start, and all of a usual log."""
_LONGEST_LINE = 4 << 20
_GZIP = b"\x1f\x8b"
_OTHERS = (b"Speculative metrics: ", b"accept len: ", b"draft acceptance", b'"draft_n_accepted"')
"""Words of other engines, searched for as long as it is not known that vLLM's V1 engine writes the log."""


def read_file(path: Path, reader: LogReader, number: int = 0) -> int:
    """Give the lines of a file (gzip is recognised by its first bytes) to the reader; returns how many were seen.

    Raises OSError for what cannot be opened. A gzip file that is cut is read as far as it goes.
    """
    with ExitStack() as stack:
        raw = stack.enter_context(path.open("rb", buffering=0))
        first = raw.read(2)
        if raw.seekable():
            raw.seek(0)
        file = stack.enter_context(gzip.open(raw)) if first == _GZIP else raw
        return read_stream(cast("BinaryIO", file), reader, number)


def read_stream(file: BinaryIO, reader: LogReader, number: int = 0) -> int:
    """The same for what is open already. Lines are counted as long as all of them are looked at."""
    seen = 0
    gatherer = Gatherer()
    others: tuple[bytes, ...] | None = None
    for block in _blocks(file):
        if seen < LINE_BY_LINE or reader.unequal:
            for line in io.BytesIO(block):
                number += 1
                reader.line(number, line)
        else:
            if others is None:
                others = () if reader.engine == "vLLM" and not reader.is_v0 else _OTHERS
            _give(gatherer.block(block), reader, number)
            for needle in others:
                _search(block, needle, reader, number)
        seen += len(block)
    _give(gatherer.flush(), reader, number)
    return number


def _give(batch: Batch | None, reader: LogReader, number: int) -> None:
    if batch is None:
        return
    reader.batch(batch.windows, batch.last, number)
    for line in batch.odd:
        reader.line(number, line)


def _search(block: bytes, needle: bytes, reader: LogReader, number: int) -> None:
    at = block.find(needle)
    while at >= 0:
        start = block.rfind(b"\n", 0, at) + 1
        end = block.find(b"\n", at) + 1 or len(block)
        reader.line(number, block[start:end])
        at = block.find(needle, end)


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """Pieces of about a quarter of a megabyte that end with a line, the last one as it is."""
    buffer = bytearray(2 * _BLOCK)
    kept = 0
    while True:
        if kept + _BLOCK > len(buffer):
            buffer.extend(bytes(_BLOCK))  # a very long line
        with memoryview(buffer) as view:
            try:
                got = file.readinto(view[kept : kept + _BLOCK])  # type: ignore[attr-defined]
            except (EOFError, zlib.error, gzip.BadGzipFile):
                got = 0  # a compressed file that is cut
            total = kept + (got or 0)
            if not got:
                break
            end = buffer.rfind(b"\n", 0, total) + 1
            if not end and total < _LONGEST_LINE:
                kept = total
                continue
            end = end or total
            block = bytes(view[:end])
            kept = total - end
            view[:kept] = bytes(view[end:total])
        yield block
    if kept:
        yield bytes(buffer[:kept])
