"""Coroutines for callers that are not async: one event loop in a thread of its own, made once."""

import asyncio
from collections.abc import Coroutine
from functools import cache
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


def result_of(coroutine: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns or raises. A Ctrl-C cancels it and reaches the caller at once.

    Not asyncio.run: a Ctrl-C that meets it while it makes or closes its loop, which is a large part of a short request,
    leaves a half-made loop that prints a traceback.
    """
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop())
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="specrail-http", daemon=True).start()
    return loop
