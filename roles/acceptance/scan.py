"""Reads log files of any size in constant memory: line by line, and large ones by searching them."""

import codecs
import fcntl
import gzip
import io
import os
import shutil
import stat
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Protocol, cast

from roles.acceptance.bulk import NEEDLE, Batch, Gatherer, batch_of_lines
from roles.acceptance.loglines import LogReader

_BLOCK = 256 << 10
_SMALL = 8 << 20
"""A file up to here, and any stream up to here, is read with every line looked at."""
_HEAD = 256 << 10
"""Of a larger file this much: it says whose log it is and how its server was started."""
_LONGEST_LINE = 4 << 20
_MOST_UTF16 = 64 << 20
_PIPE = 1 << 20
_PIECES = 4
_TAIL = 64 << 10
_GZIP = b"\x1f\x8b"
_OTHERS = (b"Speculative metrics: ", b"accept len: ", b"draft acceptance", b'"draft_n_accepted"')
"""Words of other engines, searched for as long as it is not known that vLLM's V1 engine writes the log."""


class Readable(Protocol):
    """What can be read: an open binary file, plain or compressed, stdin or a pipe."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the buffer as far as there is something; how much, 0 at the end."""


def read_file(path: Path, reader: LogReader, number: int = 0) -> int:
    """Give the lines of a file (gzip is recognised by its first bytes) to the reader; returns how many were seen.

    Raises OSError for what cannot be opened. A gzip file that is cut is read as far as it goes. In a large log grep
    looks for the lines that count, where there is one.
    """
    with ExitStack() as stack:
        raw = stack.enter_context(path.open("rb", buffering=0))
        kind = os.fstat(raw.fileno())
        if not stat.S_ISREG(kind.st_mode):
            return read_stream(raw, reader, number)
        first = raw.read(len(_GZIP))
        raw.seek(0)
        if first == _GZIP:
            return read_stream(stack.enter_context(gzip.open(raw)), reader, number)
        if first in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
            return _utf16(raw, reader, number)
        if kind.st_size <= _SMALL:
            return read_stream(raw, reader, number)
        number = _head(raw, reader, number)
        grep = shutil.which("grep")
        if grep is None or not _usual(reader):
            return _searched(raw, reader, number, _OTHERS)
        with _grep(grep, raw) as found:
            _found(found, reader, number)
        with path.open("rb") as end:  # how fast it is now, and which engine that is, stands in the last lines
            end.seek(-_TAIL, io.SEEK_END)
            reader.now(end.read())
        return number


def read_stream(file: Readable, reader: LogReader, number: int = 0) -> int:
    """The same for what is open already. Lines are counted as long as all of them are looked at."""
    seen = 0
    gatherer = Gatherer()
    for block in _blocks(file):
        if seen < _SMALL:
            number = _lines(block, reader, number)
        else:
            _search(block, reader, number, gatherer, () if _usual(reader) else _OTHERS)
        seen += len(block)
    _give(gatherer.flush(), reader, number)
    return number


def _utf16(raw: io.FileIO, reader: LogReader, number: int) -> int:
    """What PowerShell writes with >; as much of it as a usual log has."""
    text = raw.read(_MOST_UTF16) or b""
    return _lines(text.decode("utf-16", errors="replace").encode(), reader, number)


def _usual(reader: LogReader) -> bool:
    """Whether all lines that count are known to be those of vLLM's V1 engine."""
    return reader.engine == "vLLM" and not reader.is_v0


def _head(raw: io.FileIO, reader: LogReader, number: int) -> int:
    block = raw.read(_HEAD) or b""
    end = block.rfind(b"\n") + 1 or len(block)
    raw.seek(end)
    return _lines(block[:end], reader, number)


@contextmanager
def _grep(grep: str, raw: io.FileIO) -> Iterator[io.FileIO]:
    """Spec lines, from where `raw` is to its end."""
    words = NEEDLE.decode()
    with subprocess.Popen(
        [grep, "-aF", "-e", words], stdin=raw, stdout=subprocess.PIPE, bufsize=0, env={"LC_ALL": "C"}
    ) as process:
        found = cast("io.FileIO", process.stdout)
        with suppress(OSError, AttributeError):
            fcntl.fcntl(found, fcntl.F_SETPIPE_SZ, _PIPE)
        yield found


def _found(file: io.FileIO, reader: LogReader, number: int) -> None:
    """What grep found, in pieces that are worth an array operation."""
    pieces: list[bytes] = []
    for block in _blocks(file):
        pieces.append(block)
        if len(pieces) == _PIECES:
            _give(batch_of_lines(b"".join(pieces)), reader, number)
            pieces.clear()
    if pieces:
        _give(batch_of_lines(b"".join(pieces)), reader, number)


def _searched(file: io.FileIO, reader: LogReader, number: int, others: tuple[bytes, ...]) -> int:
    gatherer = Gatherer()
    for block in _blocks(file):
        _search(block, reader, number, gatherer, others)
    _give(gatherer.flush(), reader, number)
    return number


def _lines(block: bytes, reader: LogReader, number: int) -> int:
    for line in io.BytesIO(block):
        number += 1
        reader.line(number, line)
    return number


def _search(block: bytes, reader: LogReader, number: int, gatherer: Gatherer, others: tuple[bytes, ...]) -> None:
    if reader.unequal:
        others = (NEEDLE, *others)
    else:
        _give(gatherer.block(block), reader, number)
    for needle in others:
        at = block.find(needle)
        while at >= 0:
            start = block.rfind(b"\n", 0, at) + 1
            end = block.find(b"\n", at) + 1 or len(block)
            reader.line(number, block[start:end])
            at = block.find(needle, end)


def _give(batch: Batch | None, reader: LogReader, number: int) -> None:
    if batch is None:
        return
    reader.batch(batch.windows, batch.last, number)
    for line in batch.odd:
        reader.line(number, line)


def _blocks(file: Readable) -> Iterator[bytes]:
    """Pieces of about a quarter of a megabyte that end with a line, the last one as it is."""
    buffer = bytearray(2 * _BLOCK)
    kept = 0
    while True:
        if kept + _BLOCK > len(buffer):
            buffer.extend(bytes(_BLOCK))  # a very long line
        with memoryview(buffer) as view:
            try:
                got = file.readinto(view[kept : kept + _BLOCK])
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
