"""How fast the load client is, what it costs, and how far its clock is from the server's: it must not measure itself.

python -m tests.bench.stream_client [--vllm .../bin/vllm --tokenizer DIR] [--streams 1 32 256] [--rounds 3]

With --vllm (or SPECRAIL_BENCH_VLLM) `vllm bench serve` is measured in the same rounds against the same server, in turns.
Server and clients share the machine: where the server is the limit, the CPU column is what counts. CPU is user and
system time of a client's whole process tree; starting is taken out, as the slope between a small and a large load.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import TypeVar

from roles.load.client import get
from roles.load.endpoint import Endpoint
from tests.bench.mock_server import MODEL, PACED_TPOT_S, PACED_TTFT_S
from tests.bench.stream_tools import Load, Measured, Tool, lines_and_json, specrail, vllm

_FLOOD_TOKENS = 500
_PACED_TOKENS = 100
_Seen = TypeVar("_Seen")
_LARGE = 4  # times the small load


def main(argv: Sequence[str]) -> None:
    """Print a line for each tool and number of streams."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 32, 256])
    parser.add_argument("--rounds", type=int, default=3, help="medians are of so many")
    parser.add_argument(
        "--tokens", type=int, default=50_000, help="of a small flood; a large one has four times as many"
    )
    parser.add_argument("--only", choices=("flood", "paced"), help="one of the two parts")
    parser.add_argument("--vllm", default=os.environ.get("SPECRAIL_BENCH_VLLM"), help="the command of another venv")
    parser.add_argument("--tokenizer", default=os.environ.get("SPECRAIL_BENCH_TOKENIZER"), help="folder, for --vllm")
    options = parser.parse_args(argv)
    tools: dict[str, Tool] = {"specrail": specrail, "lines + json": lines_and_json}
    if options.vllm:
        if not options.tokenizer:
            parser.error("--vllm wants --tokenizer, a folder with a tokenizer.json")
        tools["vllm bench"] = vllm(options.vllm, options.tokenizer)
    if options.only != "paced":
        _flood(tools, options.streams, options.rounds, options.tokens)
    del tools["lines + json"]
    if options.only != "flood":
        _paced(tools, options.streams, options.rounds)


def _flood(tools: dict[str, Tool], streams: Sequence[int], rounds: int, tokens: int) -> None:
    _say(f"{'flood':<14}{'streams':>8}{'tok/s':>12}{'CPU s per 1M tokens':>22}   (median of {rounds})")
    with mock_server("flood") as endpoint:
        for count in streams:
            small = Load(count, max(count, tokens // _FLOOD_TOKENS), _FLOOD_TOKENS)
            large = Load(count, _LARGE * small.requests, _FLOOD_TOKENS)

            def once(tool: Tool, small: Load = small, large: Load = large) -> tuple[Measured, float]:
                first, second = tool(endpoint, small), tool(endpoint, large)
                return second, (second.cpu_s - first.cpu_s) / (large.tokens - small.tokens) * 1e6

            for name, seen in _in_turns(tools, rounds, once).items():
                rate, cpu = (median(values) for values in zip(*((m.tok_s, c) for m, c in seen), strict=True))
                failed = sum(measured.failed for measured, _ in seen)
                _say(f"{name:<14}{count:>8}{rate:>12,.0f}{cpu:>22.2f}" + (f"   {failed} failed" if failed else ""))


def _paced(tools: dict[str, Tool], streams: Sequence[int], rounds: int) -> None:
    _say("")
    _say(f"{'paced':<14}{'streams':>8}{'TTFT off, ms':>14}{'TPOT off, %':>14}   (median of {rounds})")
    _say(f"{'':<14}  (server: {PACED_TTFT_S * 1e3:.0f} ms, then {PACED_TPOT_S * 1e3:.0f} ms a token)")
    with mock_server("paced") as endpoint:
        for count in streams:
            load = Load(count, 2 * count if count > 1 else 3, _PACED_TOKENS)

            def once(tool: Tool, load: Load = load) -> tuple[float, float]:
                get(endpoint, "/truth")
                seen = tool(endpoint, load)
                truth = json.loads(get(endpoint, "/truth")[1])
                return (seen.ttft_s - truth["ttft_s"]) * 1e3, 100 * (seen.tpot_s / truth["tpot_s"] - 1)

            for name, offs in _in_turns(tools, rounds, once).items():
                ttft_ms, tpot = (median(values) for values in zip(*offs, strict=True))
                _say(f"{name:<14}{count:>8}{ttft_ms:>+14.2f}{tpot:>+14.3f}")


def _in_turns(tools: dict[str, Tool], rounds: int, once: Callable[[Tool], _Seen]) -> dict[str, list[_Seen]]:
    seen: dict[str, list[_Seen]] = {name: [] for name in tools}
    for _ in range(rounds):
        for name, tool in tools.items():
            seen[name].append(once(tool))
    return seen


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
            process.terminate()  # SIGINT is ignored in what a shell has started in the background


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
