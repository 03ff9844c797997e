"""Server-sent events out of a stream of bytes, wherever the received blocks happen to end."""

_LINE_LIMIT_BYTES = 4 * 1024 * 1024


class EventReader:
    """Collects blocks and gives back the data of each event that is complete (WHATWG HTML, 9.2.6).

    Lines end with LF, CRLF or CR and with nothing else: U+2028 and U+0085 stand unescaped in JSON strings.
    Comments and the fields event, id and retry are skipped; an event without data is none.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, block: bytes) -> list[str]:
        """The data of the events that `block` completes; bytes that are not UTF-8 become U+FFFD.

        Raises ValueError when a line is longer than 4 MiB: that is not an answer.
        """
        received = self._rest + block if self._rest else block
        # A CR at the very end waits: the LF that belongs to it may come with the next block.
        end = max(received.rfind(b"\n"), received.rfind(b"\r", 0, -1)) + 1
        self._rest = received[end:]
        if len(self._rest) > _LINE_LIMIT_BYTES:
            raise ValueError(f"a line of more than {_LINE_LIMIT_BYTES} bytes")
        return self._read(received[:end]) if end else []

    def finish(self) -> list[str]:
        """The data of an event that the end of the stream completes: servers forget the last blank line."""
        payloads = self._read(self._rest + b"\n\n")
        self._rest = b""
        return payloads

    def _read(self, lines: bytes) -> list[str]:
        text = lines.decode("utf-8", "replace")
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        payloads: list[str] = []
        data = self._data
        for line in text[:-1].split("\n"):
            if line.startswith("data: "):
                data.append(line[6:])
            elif line:
                if line.startswith("data:"):
                    data.append(line[5:])
            elif data:
                payload = data[0] if len(data) == 1 else "\n".join(data)
                data.clear()
                if payload:
                    payloads.append(payload)
        return payloads
