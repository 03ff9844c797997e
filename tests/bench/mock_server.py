"""A server that streams ready-made tokens as fast as it can, or on a clock of its own that it can be asked for.

python -m tests.bench.mock_server PORT flood|paced
"""

import asyncio
import json
import sys
import time
from statistics import fmean

PACED_TTFT_S = 0.2
PACED_TPOT_S = 0.02
MODEL = "mock"

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"


def _chunk(data: str) -> bytes:
    event = f"data: {data}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(event), event)


def _event(kind: str, **what: object) -> bytes:
    base = {"id": "cmpl-0123456789abcdef", "object": kind, "created": 1764400000, "model": MODEL}
    return _chunk(json.dumps(base | what, separators=(",", ":")))


class Shape:
    """The events of one of the two endpoints: before the first token, a token, the last one."""

    def __init__(self, kind: str, *, chat: bool) -> None:
        def token(text: str, reason: str | None = None) -> bytes:
            part = {"delta": {"content": text}} if chat else {"text": text}
            return _event(kind, choices=[{"index": 0, **part, "logprobs": None, "finish_reason": reason}])

        role = {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
        self.kind = kind
        self.first = _event(kind, choices=[role]) if chat else b""
        self.word = token(" the")
        self.last = token(" end", "length")


_CHAT = Shape("chat.completion.chunk", chat=True)
_PLAIN = Shape("text_completion", chat=False)
_MODELS = {"object": "list", "data": [{"id": MODEL, "object": "model", "root": MODEL, "max_model_len": 131072}]}


class Clock:
    """What really happened, by the server's own clock: TTFT and TPOT of each answer, seconds."""

    def __init__(self) -> None:
        self.ttft_s: list[float] = []
        self.tpot_s: list[float] = []

    def as_json(self) -> dict[str, float | int]:
        """Means of all answers since the last call."""
        truth = {"answers": len(self.ttft_s), "ttft_s": fmean(self.ttft_s or [0]), "tpot_s": fmean(self.tpot_s or [0])}
        self.ttft_s, self.tpot_s = [], []
        return truth


class Connection(asyncio.Protocol):
    """One keep-alive connection: reads a request, writes an answer token by token, and again.

    Nothing but the loop's own calls on the way of a token: the server must not be what a client is measured by.
    """

    def __init__(self, clock: Clock, *, paced: bool) -> None:
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._next = self._at_its_time if paced else self._at_once
        self._received = b""
        self._writable = True
        self._count = self._sent = 0
        self._asked = self._first = 0.0
        self._shape = _CHAT

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        self._count = 0

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        if self._sent < self._count:
            self._next()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        if not end or len(rest) < length:
            return
        self._received = rest[length:]
        path = head.split(b" ", 2)[1]
        if head.startswith(b"GET"):
            body = json.dumps(self._clock.as_json() if path == b"/truth" else _MODELS).encode()
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            return
        asked = json.loads(rest[:length])
        self._count, self._sent = int(asked.get("max_completion_tokens") or asked["max_tokens"]), 0
        self._shape = _CHAT if path.endswith(b"/chat/completions") else _PLAIN
        self._asked, self._first = time.perf_counter(), 0.0
        self._next()

    def _at_once(self) -> None:
        if self._writable:
            self._loop.call_soon(self._token)

    def _at_its_time(self) -> None:
        due = self._asked + PACED_TTFT_S + self._sent * PACED_TPOT_S
        self._loop.call_later(due - time.perf_counter(), self._token)

    def _token(self) -> None:
        if self._sent >= self._count:
            return
        self._sent += 1
        if self._sent == 1:
            self._transport.write(_HEAD + self._shape.first)
            self._first = time.perf_counter()
        if self._sent < self._count:
            self._transport.write(self._shape.word)
            self._next()
        else:
            self._end()

    def _end(self) -> None:
        usage = {"prompt_tokens": 32, "completion_tokens": self._count, "total_tokens": 32 + self._count}
        self._transport.write(
            self._shape.last + _event(self._shape.kind, choices=[], usage=usage) + _chunk("[DONE]") + b"0\r\n\r\n"
        )
        self._clock.ttft_s.append(self._first - self._asked)
        if self._count > 1:
            self._clock.tpot_s.append((time.perf_counter() - self._first) / (self._count - 1))


async def serve(port: int, *, paced: bool) -> None:
    """Serve until cancelled."""
    clock = Clock()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(clock, paced=paced), "127.0.0.1", port, backlog=2048)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")  # its parent reads it
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), paced=sys.argv[2] == "paced"))
