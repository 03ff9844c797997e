"""Write a server log of any size whose counts are known: access lines, statistics, drafts, restarts, tracebacks.

    python -m tests.bench.log_generator /tmp/serve.log --megabytes 1000 --requests 40

Prints the truth as JSON: bytes, lines, windows, rounds, accepted, drafted. The same arguments give the same file.
"""

import argparse
import json
import random
import sys
from datetime import datetime, timedelta
from pathlib import Path

_RATES = (0.8, 0.55, 0.37, 0.25, 0.17)
_PATHS = ("POST /v1/chat/completions", "POST /v1/completions", "GET /health", "GET /metrics", "GET /v1/models")
_STYLES = (("(APIServer pid={pid}) ", 271, 101), ("\x1b[1;36m(APIServer pid={pid})\x1b[0;0m ", 123, 96))
_RESTART_EVERY = 30_000  # windows, about three and a half days
_START = (
    "[api_server.py:1896] vLLM API server version {version}",
    "[api_utils.py:286] non-default args: {{'speculative_config': {{'method': 'dflash', 'num_speculative_tokens': 5}}}}",
    "[gpu_model_runner.py:2007] Using auxiliary layers from speculative config: (2, 17, 32, 47, 62)",
    "[core.py:210] init engine (profile, create kv cache, warmup model) took 34.11 s",
)


def write(path: Path, size: int, requests: int) -> dict[str, int]:
    """Write at least `size` bytes with about `requests` access lines in each ten seconds. Returns the truth."""
    draw = random.Random(7)  # noqa: S311 - a made-up log
    truth = dict.fromkeys(("bytes", "lines", "windows", "rounds", "accepted", "drafted"), 0)
    now, window, front, versions, pool = datetime(2026, 5, 1), 0, "", (0, 0), [""]
    with path.open("wb", buffering=1 << 20) as file:
        while truth["bytes"] < size:
            lines = []
            at = f"{now:%m-%d %H:%M:%S}"
            if window % _RESTART_EVERY == 0:
                style, stats_line, spec_line = _STYLES[window // _RESTART_EVERY % 2]
                front, versions = style.format(pid=draw.randint(1000, 999_999)), (stats_line, spec_line)
                version = "0.20.1" if stats_line == 271 else "0.10.2"
                lines += [f"{front}INFO {at} {line.format(version=version)}\n" for line in _START]
                pool = [_access(draw, front) for _ in range(4000)]
            lines += draw.choices(pool, k=draw.randint(0, 2 * requests))
            generated = draw.uniform(20, 900)
            lines.append(
                f"{front}INFO {at} [loggers.py:{versions[0]}] Engine 000: Avg prompt throughput: {draw.uniform(0, 4000):.1f} "
                f"tokens/s, Avg generation throughput: {generated:.1f} tokens/s, Running: {draw.randint(0, 24)} reqs, "
                f"Waiting: 0 reqs, GPU KV cache usage: {draw.uniform(0, 90):.1f}%, Prefix cache hit rate: 41.3%\n"
            )
            if draw.random() < 0.85:
                rounds = draw.randint(20, 3000)
                ease = draw.uniform(0.9, 1.1)
                counts = [int(rounds * rate * ease) for rate in _RATES]
                lines.append(f"{front}INFO {at} [metrics.py:{versions[1]}] {_spec(rounds, counts)}\n")
                truth["windows"] += 1
                truth["rounds"] += rounds
                truth["accepted"] += sum(counts)
                truth["drafted"] += rounds * len(counts)
            if draw.random() < 0.003:
                lines += [f'{front}ERROR {at} [serving_chat.py:574]   File "/opt/vllm/serving_chat.py", line 574\n'] * 6
            text = "".join(lines).encode()
            file.write(text)
            truth["bytes"] += len(text)
            truth["lines"] += len(lines)
            window += 1
            now += timedelta(seconds=10)
    return truth


def _access(draw: random.Random, front: str) -> str:
    address = f"10.0.{draw.randint(0, 3)}.{draw.randint(2, 250)}:{draw.randint(1024, 65535)}"
    return f'{front}INFO:     {address} - "{draw.choice(_PATHS)} HTTP/1.1" 200 OK\n'


def _spec(rounds: int, counts: list[int]) -> str:
    accepted, drafted = sum(counts), rounds * len(counts)
    rates = ", ".join(f"{count / rounds:.3f}" for count in counts)
    return (
        f"SpecDecoding metrics: Mean acceptance length: {1 + accepted / rounds:.2f}, "
        f"Accepted throughput: {accepted / 10:.2f} tokens/s, Drafted throughput: {drafted / 10:.2f} tokens/s, "
        f"Accepted: {accepted} tokens, Drafted: {drafted} tokens, Per-position acceptance rate: {rates}, "
        f"Avg Draft acceptance rate: {100 * accepted / drafted:.1f}%"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=40, help="access lines in ten seconds, on average")
    given = parser.parse_args()
    sys.stdout.write(json.dumps(write(given.path, given.megabytes * 1_000_000, given.requests)) + "\n")
