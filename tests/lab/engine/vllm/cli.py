"""The `vllm` command."""

import asyncio
import signal
import socket
import sys
import time
from argparse import Namespace
from collections.abc import Sequence

from vllm import arguments as flags
from vllm import bench, traces
from vllm.clock import Clock
from vllm.features import VERSION
from vllm.log import API
from vllm.serving import serve
from vllm.startup import StartFailed, start


def main(words: Sequence[str] | None = None) -> None:
    """Run the command line; the process ends with vLLM's status."""
    arguments = flags.parse(sys.argv[1:] if words is None else words)
    if arguments.subparser == "bench":
        sys.exit(bench.run(arguments))
    signal.signal(signal.SIGTERM, _interrupted)
    sys.exit(_serve(arguments))


def _serve(arguments: Namespace) -> int:
    started_at = time.time()
    clock = Clock.from_environment()
    _greet(arguments)
    try:
        bound = _bind(arguments.host or "", arguments.port)
    except OSError as error:
        traces.port_taken(error)
        return 1
    with bound:
        try:
            started = start(arguments, clock)
        except StartFailed:
            return 1
        asyncio.run(serve(arguments, clock, started, bound, started_at))
    return 0


def _greet(arguments: Namespace) -> None:
    logo = (
        "",
        "       █     █     █▄   ▄█",
        f" ▄▄ ▄█ █     █     █ ▀▄▀ █  version {VERSION}",
        f"  █▄█▀ █     █     █     █  model   {arguments.model_tag}",
        "   ▀▀  ▀▀▀▀▀ ▀▀▀▀▀ ▀     ▀",
        "",
    )
    API.info("utils.py:299", "\n".join(logo))
    API.info("utils.py:233", f"non-default args: {flags.non_default(arguments)}")


def _bind(host: str, port: int) -> socket.socket:
    """Hold the port early, as vLLM does, but do not listen before the engine is ready. Raises OSError."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def _interrupted(*_: object) -> None:
    """SIGTERM while the engine starts ends it as Ctrl-C does."""
    raise KeyboardInterrupt("terminated")
