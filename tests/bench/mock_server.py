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


def _event(**what: object) -> bytes:
    base = {"id": "chatcmpl-0123456789abcdef", "object": "chat.completion.chunk", "created": 1764400000, "model": MODEL}
    return _chunk(json.dumps(base | what, separators=(",", ":")))


def _token(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason, "token_ids": None}
    return _event(choices=[choice])


_ROLE = _token({"role": "assistant", "content": ""})
_WORD = _token({"content": " the"})
_LAST = _token({"content": " end"}, "length")


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
    """One keep-alive connection: reads a request, writes an answer, and again."""

    def __init__(self, clock: Clock, *, paced: bool) -> None:
        self._clock = clock
        self._paced = paced
        self._received = b""
        self._writable = asyncio.Event()
        self._writable.set()
        self._answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        if self._answering is not None:
            self._answering.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        if not end or len(rest) < length:
            return
        self._received = rest[length:]
        if head.startswith(b"GET"):
            body = json.dumps(self._clock.as_json()).encode()
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        else:
            count = int(json.loads(rest[:length])["max_tokens"])
            self._answering = asyncio.get_running_loop().create_task(self._answer(count, time.perf_counter()))

    async def _answer(self, count: int, asked: float) -> None:
        first = 0.0
        for number in range(count):
            if self._paced:
                await asyncio.sleep(asked + PACED_TTFT_S + number * PACED_TPOT_S - time.perf_counter())
            else:
                await asyncio.sleep(0)
            await self._writable.wait()
            token = _LAST if number == count - 1 else _WORD
            self._transport.write(token if number else _HEAD + _ROLE + token)
            first = first or time.perf_counter()
        self._clock.ttft_s.append(first - asked)
        if count > 1:
            self._clock.tpot_s.append((time.perf_counter() - first) / (count - 1))
        usage = {"prompt_tokens": 32, "completion_tokens": count, "total_tokens": 32 + count}
        self._transport.write(_event(choices=[], usage=usage) + _chunk("[DONE]") + b"0\r\n\r\n")


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
