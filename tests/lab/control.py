"""The line to a lab's daemon: one JSON object each way, over a unix socket in the lab's folder."""

import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_LIMIT = 1 << 20

Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


def ask(path: Path, request: dict[str, Any], *, timeout_s: float = 30) -> dict[str, Any]:
    """Send a request and wait for the answer. Raises OSError when nobody answers."""
    with _short(path) as short, socket.socket(socket.AF_UNIX) as line:
        line.settimeout(timeout_s)
        line.connect(short)
        line.sendall(json.dumps(request).encode() + b"\n")
        with line.makefile("rb") as answers:
            answer = answers.readline()
    if not answer:
        raise ConnectionResetError(f"{path}: hung up without an answer")
    found: dict[str, Any] = json.loads(answer)
    return found


async def listen(path: Path, answer: Answer) -> asyncio.Server:
    """Answer requests at `path`, each with what `answer` makes of it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if request := await reader.readline():
                writer.write(json.dumps(await answer(json.loads(request))).encode() + b"\n")
                await writer.drain()
        except OSError:
            pass  # whoever asked has gone
        finally:
            writer.close()

    path.unlink(missing_ok=True)
    with _short(path) as short:
        return await asyncio.start_unix_server(serve, short, limit=_LIMIT)


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """A name of the path that fits into a socket address (108 bytes), however deep the folder lies."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
