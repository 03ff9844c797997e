"""Coroutines for callers that are not async: one event loop in a thread of its own, made once."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import cache
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


def result_of(begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What the coroutine returns or raises. A Ctrl-C cancels it and reaches the caller at once.

    Not asyncio.run: a Ctrl-C that meets it while it makes or closes its loop, which is a large part of a short request,
    leaves a half-made loop that prints a traceback. No signal is delivered to another thread.
    """
    loop = _loop()
    future = asyncio.run_coroutine_threadsafe(begin(), loop)
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise


@cache
def _loop() -> asyncio.AbstractEventLoop:
    made: Future[asyncio.AbstractEventLoop] = Future()

    def live() -> None:
        loop = asyncio.new_event_loop()
        made.set_result(loop)
        loop.run_forever()

    Thread(target=live, name="specrail-http", daemon=True).start()
    return made.result()
