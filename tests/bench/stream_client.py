"""How fast the load client is, what it costs, and how far its clock is from the server's: it must not measure itself.

python -m tests.bench.stream_client [--streams 1 32 256] [--tokens 100000]

Server and client share the machine: at many streams the flood's rate is the server's, and the CPU column is what counts.
"""

import argparse
import asyncio
import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import aiohttp

from roles.load.client import get
from roles.load.endpoint import Endpoint
from roles.load.prompts import Prompt
from roles.load.run import run_load
from roles.load.summary import summarise
from tests.bench.mock_server import MODEL, PACED_TPOT_S, PACED_TTFT_S

_FLOOD_TOKENS = 500
_PACED_TOKENS = 100


@dataclass(frozen=True)
class Measured:
    """One run of one client. cpu_s is user and system time of this process."""

    tokens: int
    wall_s: float
    cpu_s: float
    ttft_s: float | None = None
    tpot_s: float | None = None


def specrail(endpoint: Endpoint, streams: int, requests: int, tokens: int) -> Measured:
    """This project's client."""
    began = _cpu_s()
    result = run_load(endpoint, _prompts(requests), max_tokens=tokens, concurrency=streams)
    summary = summarise(result)
    assert not result.failed, result.failed
    assert summary.output_tokens == requests * tokens
    return Measured(
        summary.output_tokens,
        result.wall_s,
        _cpu_s() - began,
        summary.ttft_s.mean if summary.ttft_s else None,
        summary.tpot_s.mean if summary.tpot_s else None,
    )


def lines_and_json(endpoint: Endpoint, streams: int, requests: int, tokens: int) -> Measured:
    """The plain way to do it, for comparison: aiohttp line by line, json.loads for each event."""

    async def one(session: aiohttp.ClientSession) -> int:
        body = {"model": MODEL, "messages": [], "max_tokens": tokens, "stream": True}
        text, count = [], 0
        async with session.post(f"{endpoint.base_url}/v1/chat/completions", json=body) as response:
            async for line in response.content:
                if line.startswith(b"data: {"):
                    event = json.loads(line[6:])
                    text += [choice["delta"].get("content") for choice in event["choices"]]
                    count = (event.get("usage") or {}).get("completion_tokens", 0)
        assert len("".join(text)) == 4 * tokens
        return int(count)

    async def all_of_them() -> tuple[int, float]:
        left = iter(range(requests))
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, read_bufsize=2**18) as session:

            async def worker() -> int:
                count = 0
                for _ in left:
                    count += await one(session)
                return count

            loop = asyncio.get_running_loop()
            began = loop.time()
            counts = await asyncio.gather(*(worker() for _ in range(streams)))
            return sum(counts), loop.time() - began

    began = _cpu_s()
    count, wall_s = asyncio.run(all_of_them())
    return Measured(count, wall_s, _cpu_s() - began)


@contextmanager
def mock_server(mode: str) -> Iterator[Endpoint]:
    """The server in a process of its own, so that its CPU is not counted here."""
    command = [sys.executable, "-m", "tests.bench.mock_server", "0", mode]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        try:
            yield Endpoint(f"http://127.0.0.1:{port}", MODEL)
        finally:
            process.send_signal(signal.SIGINT)


def main(argv: Sequence[str]) -> None:
    """Print a line for each client and number of streams."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 32, 256])
    parser.add_argument("--tokens", type=int, default=200_000, help="tokens of each flood")
    options = parser.parse_args(argv)
    clients: list[tuple[str, Callable[[Endpoint, int, int, int], Measured]]] = [
        ("specrail", specrail),
        ("lines + json", lines_and_json),
    ]
    _say(f"{'flood':<14}{'streams':>8}{'tok/s':>12}{'CPU s per 1M tokens':>22}")
    with mock_server("flood") as endpoint:
        for streams in options.streams:
            requests = max(streams, options.tokens // _FLOOD_TOKENS)
            for name, client in clients:
                seen = client(endpoint, streams, requests, _FLOOD_TOKENS)
                cpu = seen.cpu_s / seen.tokens * 1e6
                _say(f"{name:<14}{streams:>8}{seen.tokens / seen.wall_s:>12,.0f}{cpu:>22.2f}")
    _say("")
    _say(f"{'paced':<14}{'streams':>8}{'TTFT off, ms':>14}{'TPOT off, %':>14}{'CPU s per 1M tokens':>22}")
    _say(f"{'':<14}  (server: {PACED_TTFT_S * 1e3:.0f} ms, then {PACED_TPOT_S * 1e3:.0f} ms a token)")
    with mock_server("paced") as endpoint:
        for streams in options.streams:
            get(endpoint, "/truth")
            seen = specrail(endpoint, streams, 2 * streams if streams > 1 else 3, _PACED_TOKENS)
            truth = json.loads(get(endpoint, "/truth")[1])
            assert seen.ttft_s is not None
            assert seen.tpot_s is not None
            ttft_off_ms = (seen.ttft_s - truth["ttft_s"]) * 1e3
            tpot_off = 100 * (seen.tpot_s / truth["tpot_s"] - 1)
            cpu = seen.cpu_s / seen.tokens * 1e6
            _say(f"{'specrail':<14}{streams:>8}{ttft_off_ms:>+14.2f}{tpot_off:>+14.3f}{cpu:>22.2f}")


def _prompts(count: int) -> list[Prompt]:
    return [Prompt.user("hello " * 32, name=str(number)) for number in range(count)]


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
