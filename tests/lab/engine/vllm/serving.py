"""The running server: HTTP, the engine's steps and the log of its windows, until SIGTERM or the engine's death."""

import asyncio
import os
import signal
import socket
from argparse import Namespace

from vllm.api import ROUTES, Api, Settings
from vllm.clock import Clock
from vllm.engine import Engine
from vllm.log import API, CORE
from vllm.startup import Started
from vllm.stats import WindowLog
from vllm.web import Server

_LAST_ANSWERS_S = 1.0
"""Wall seconds between the engine's death and the port's closing: /health answers 503 in this time."""


async def serve(arguments: Namespace, clock: Clock, started: Started, bound: socket.socket, started_at: float) -> None:
    """Serve until SIGTERM or SIGINT, or until the engine has died; both end well, as they do with vLLM."""
    engine = Engine(clock, started.limits, started.fatal)
    settings = Settings(
        model_names=arguments.served_model_name or [arguments.model_tag],
        model_root=arguments.model_tag,
        max_model_len=started.max_model_len,
        api_keys=_api_keys(arguments),
        count=not arguments.disable_log_stats,
        started_at=started_at,
    )
    server = Server(Api(engine, settings), access_log=not arguments.disable_uvicorn_access_log)
    terminated = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, terminated.set)
    _announce(arguments)
    await server.start(bound)
    API.raw(f"INFO:     Started server process [{os.getpid()}]\nINFO:     Waiting for application startup.")
    API.raw("INFO:     Application startup complete.")
    steps = asyncio.create_task(engine.run())  # ends only when the engine dies
    windows = asyncio.create_task(_log_windows(engine)) if settings.count else None
    end = asyncio.create_task(terminated.wait())
    await asyncio.wait((steps, end), return_when=asyncio.FIRST_COMPLETED)
    if terminated.is_set():
        _say_goodbye(engine)
    else:
        steps.result()  # raises what should not happen
        await asyncio.wait((end,), timeout=_LAST_ANSWERS_S)
    API.raw("INFO:     Shutting down")
    await server.stop()
    for task in (steps, windows, end):
        if task is not None:
            task.cancel()
    API.raw("INFO:     Waiting for application shutdown.\nINFO:     Application shutdown complete.")
    API.raw(f"INFO:     Finished server process [{os.getpid()}]")


def _api_keys(arguments: Namespace) -> list[str]:
    key = os.environ.get("VLLM_API_KEY")
    return [word for word in arguments.api_key or ([key] if key else []) if word]


def _announce(arguments: Namespace) -> None:
    API.info("api_server.py:598", "Supported tasks: ['generate']")
    host = arguments.host or "0.0.0.0"
    address = f"http://{f'[{host}]' if ':' in host else host}:{arguments.port}"
    API.info("api_server.py:602", f"Starting vLLM server on {address}")
    API.info("launcher.py:37", "Available routes are:")
    for path, method in ROUTES:
        API.info("launcher.py:46", f"Route: {path}, Methods: {method}")


async def _log_windows(engine: Engine) -> None:
    interval_s = float(os.environ.get("VLLM_LOG_STATS_INTERVAL", "10"))
    clock = engine.clock
    log = WindowLog(engine.counts, clock.now_s())
    while True:
        await clock.until(clock.now_s() + interval_s)
        log.write(clock.now_s(), engine.load)


def _say_goodbye(engine: Engine) -> None:
    CORE.info("core.py:1238", "Shutdown initiated (timeout=0)")
    load = engine.load
    if load.running + load.waiting:
        CORE.info("core.py:1243", f"Aborting {load.running + load.waiting} requests")
    CORE.info("core.py:1261", "Shutdown complete")
    API.info("launcher.py:137", "Shutting down FastAPI HTTP server.")
