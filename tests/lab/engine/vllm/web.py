"""HTTP/1.1 on asyncio streams: as much as an OpenAI client and a Prometheus scraper need."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from vllm.log import API

_BODY_LIMIT_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    """A request that was read whole. Header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Answer:
    """The answer to one request: `json`, `text`, or `begin_stream`, `send` and `end_stream`.

    log: False suppresses the access log
    """

    def __init__(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, log: bool
    ) -> None:
        self._request = request
        self._reader = reader
        self._writer = writer
        self._log = log

    @property
    def client_left(self) -> bool:
        """Whether the client has hung up."""
        return self._reader.at_eof() or self._writer.is_closing()

    async def json(self, value: object, status: int = 200) -> None:
        """Answer with JSON."""
        await self._whole(status, "application/json", json.dumps(value, ensure_ascii=False).encode())

    async def text(self, text: str, status: int = 200, kind: str = "text/plain; version=0.0.4; charset=utf-8") -> None:
        """Answer with text."""
        await self._whole(status, kind, text.encode())

    async def begin_stream(self) -> None:
        """Begin to answer with server-sent events."""
        self._head(200, "content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n")
        await self._writer.drain()

    async def send(self, events: str) -> None:
        """Send events that are complete. Raises ConnectionError when the client has left."""
        data = events.encode()
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._writer.drain()

    async def end_stream(self) -> None:
        """End the stream; the connection stays open."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def _whole(self, status: int, kind: str, body: bytes) -> None:
        self._head(status, f"content-type: {kind}\r\ncontent-length: {len(body)}\r\n", body)
        await self._writer.drain()

    def _head(self, status: int, fields: str, body: bytes = b"") -> None:
        phrase = HTTPStatus(status).phrase
        self._writer.write(f"HTTP/1.1 {status} {phrase}\r\nserver: uvicorn\r\n{fields}\r\n".encode() + body)
        if self._log:
            host, port = self._writer.get_extra_info("peername")[:2]
            asked = f"{self._request.method} {self._request.path} HTTP/1.1"
            API.access(f'INFO:     {host}:{port} - "{asked}" {status} {phrase}')


Handler = Callable[[Request, Answer], Awaitable[None]]


class Server:
    """Listens on a bound socket and calls `handler` for each request; connections are kept alive."""

    def __init__(self, handler: Handler, *, access_log: bool) -> None:
        self._handler = handler
        self._access_log = access_log
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, bound: socket.socket) -> None:
        """Begin to accept. Raises OSError when somebody else listens on the port by now."""
        self._server = await asyncio.start_server(self._serve, sock=bound, backlog=2048)

    async def stop(self) -> None:
        """Stop accepting, and cut the connections that are open."""
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while request := await _read(reader, writer):
                    await self._handler(request, Answer(request, reader, writer, log=self._access_log))
                    if request.headers.get("connection", "").lower() == "close":
                        break
        finally:
            self._connections.discard(task)
            writer.close()


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """Read one request; None when the client has closed the connection, or does not speak HTTP."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        start, *lines = head[:-4].split("\r\n")
        method, target, _ = start.split(" ")
        headers = {name.strip().lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        length = int(headers.get("content-length", "0"))
    except (ValueError, asyncio.LimitOverrunError):
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        return None
    except asyncio.IncompleteReadError:
        return None
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(min(length, _BODY_LIMIT_BYTES))
    return Request(method, target.partition("?")[0], headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
        if len(body) > _BODY_LIMIT_BYTES:
            raise ConnectionError("body too large")
    while await reader.readuntil(b"\r\n") != b"\r\n":  # trailers
        pass
    return bytes(body)
