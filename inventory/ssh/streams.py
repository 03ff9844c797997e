"""Streams of bytes from a host: their end kept within bounds, and their lines handed on as they come."""

from collections.abc import Callable

from inventory.secrets import Redactor

LINE_LIMIT_BYTES = 1024 * 1024
"""What comes of a line beyond this is not handed on."""


class Kept:
    """The end of a stream of bytes, at most `limit_bytes` of it."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._data = bytearray()
        self.cut_bytes = 0

    def add(self, piece: bytes) -> None:
        """Append; drops from the beginning only now and then, so that memory is bound by twice the limit."""
        self._data += piece
        if len(self._data) > 2 * self._limit:
            self._trim()

    def take(self) -> bytes:
        """What is kept; `cut_bytes` is right from now on."""
        self._trim()
        return bytes(self._data)

    def _trim(self) -> None:
        extra = len(self._data) - self._limit
        if extra > 0:
            del self._data[:extra]
            self.cut_bytes += extra


class Lines:
    """Cuts a stream into lines and hands them on: decoded, redacted, without their ends."""

    def __init__(self, on_line: Callable[[str], None], redact: Redactor) -> None:
        self._on_line = on_line
        self._redact = redact
        self._rest = bytearray()

    def add(self, piece: bytes) -> None:
        """Hand on what is whole. Of a line beyond the limit the beginning is kept."""
        *whole, rest = piece.split(b"\n")
        for line in whole:
            self._keep(line)
            self._flush()
        self._keep(rest)

    def end(self) -> None:
        """Hand on a last line that has no end."""
        if self._rest:
            self._flush()

    def _keep(self, part: bytes) -> None:
        self._rest += part[: max(0, LINE_LIMIT_BYTES - len(self._rest))]

    def _flush(self) -> None:
        line = self._redact(self._rest.decode(errors="replace").removesuffix("\r"))
        if len(self._rest) == LINE_LIMIT_BYTES:  # half a secret may stand at the cut
            line = line[: len(line) - self._redact.longest]
        self._rest.clear()
        self._on_line(line)
