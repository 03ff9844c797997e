"""Searches a large log in blocks: starts of servers and what follows them is read, of the rest only what counts."""

from typing import TYPE_CHECKING

from roles.acceptance.blocks import Block
from roles.acceptance.bulk import SPEC, Bulk

if TYPE_CHECKING:
    from roles.acceptance.loglines import LogReader

_AFTER_START = 256 << 10
_BEFORE_START = 4 << 10
_STARTS = (b"LLM engine (v", b"API server version", b"non-default args", b"speculative_config", b"server_args=")
_QUOTE = b"'"  # in all lines that say how a server was started, and in few others
_MANY_QUOTES = 200
_STATISTICS = b"Avg generation t"
_OTHERS = (b"Speculative metrics: ", b"accept len: ", b"draft acceptance", b'"draft_n_accepted"')
"""Words of other engines, searched for as long as it is not known that vLLM's V1 engine writes the log."""


class Search:
    """Takes the blocks of one log in their order.

    after_start: bytes after a server's start that are read with every line looked at: they say how it was started
    """

    def __init__(self, reader: "LogReader", *, after_start: int = _AFTER_START) -> None:
        self._reader = reader
        self._after_start = after_start
        self._bulk = Bulk(reader)
        self._read_on = 0

    def take(self, block: Block, number: int) -> None:
        """Give to the reader what counts in a block; number is for messages."""
        done = self._read(block, 0, number)
        while done < block.size:
            start = _start(block, done) if self._after_start else None
            end = block.size if start is None else max(done, block.begin_of(max(0, start - _BEFORE_START)))
            self._search(block, done, end, number)
            if start is None:
                return
            self._bulk.flush(number)
            while end <= start:
                self._reader.line(number, block.line_of(end))
                end = block.end_of(end)
            self._read_on = self._after_start
            done = self._read(block, end, number)

    def end(self, number: int) -> None:
        """Give what was collected of the last blocks."""
        self._bulk.flush(number)

    def _read(self, block: Block, begin: int, number: int) -> int:
        """What is left of a server's start, line by line; it ends with the first statistics. Returns where."""
        while begin < block.size and self._read_on > 0:
            end = block.end_of(begin)
            line = bytes(block.buffer[begin:end])
            if _STATISTICS in line:
                self._read_on = 0
                break
            self._reader.line(number, line)
            self._read_on -= end - begin
            begin = end
        return begin

    def _search(self, block: Block, begin: int, end: int, number: int) -> None:
        self._bulk.take(block, begin, end, number)
        if self._reader.engine == "vLLM" and not self._reader.is_v0:
            return
        lines: set[int] = set()
        for needle in _OTHERS:
            at = block.buffer.find(needle, begin, end)
            while at >= 0:
                lines.add(block.begin_of(at))
                at = block.buffer.find(needle, block.end_of(at), end)
        for start in sorted(lines):
            line = block.line_of(start)
            if not SPEC.search(line):
                self._reader.line(number, line)


def _start(block: Block, begin: int) -> int | None:
    """Where the first line begins that says how a server was started."""
    buffer, end = block.buffer, block.size
    at = buffer.find(_QUOTE, begin, end)
    for _ in range(_MANY_QUOTES):
        if at < 0:
            return None
        last = block.end_of(at)
        if any(buffer.find(word, block.begin_of(at), last) >= 0 for word in _STARTS):
            return block.begin_of(at)
        at = buffer.find(_QUOTE, last, end)
    places = [place for word in _STARTS[:2] if (place := buffer.find(word, max(at, begin), end)) >= 0]
    return block.begin_of(min(places)) if at >= 0 and places else None
