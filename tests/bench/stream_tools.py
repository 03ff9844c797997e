"""The clients that `stream_client` measures, each as a process of its own, and what each says it saw.

python -m tests.bench.stream_tools specrail|lines URL STREAMS REQUESTS TOKENS
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import aiohttp

from roles.load.endpoint import Endpoint
from roles.load.prompts import Prompt
from roles.load.run import run_load
from roles.load.summary import summarise
from tests.bench.mock_server import MODEL


@dataclass(frozen=True)
class Load:
    """So many requests of so many tokens each, `streams` at a time."""

    streams: int
    requests: int
    answer_tokens: int

    @property
    def tokens(self) -> int:
        """Of all answers."""
        return self.requests * self.answer_tokens


@dataclass(frozen=True)
class Measured:
    """What a tool reports of a load (means), and the user and system time of its processes.

    failed: requests that the tool could not read the answer of
    """

    tok_s: float
    ttft_s: float = 0.0
    tpot_s: float = 0.0
    cpu_s: float = 0.0
    failed: int = 0


Tool: TypeAlias = Callable[[Endpoint, Load], Measured]


def specrail(endpoint: Endpoint, load: Load) -> Measured:
    """This project's client."""
    return _own("specrail", endpoint, load)


def lines_and_json(endpoint: Endpoint, load: Load) -> Measured:
    """The plain way to do it, for comparison: aiohttp line by line, json.loads for each event. It times nothing."""
    return _own("lines", endpoint, load)


def vllm(command: str, tokenizer: str) -> Tool:
    """`vllm bench serve` of a vLLM in an environment of its own. tokenizer: a folder."""

    def measure(endpoint: Endpoint, load: Load) -> Measured:
        with tempfile.TemporaryDirectory() as folder:
            words = [command, "bench", "serve", "--backend", "openai-chat", "--endpoint", "/v1/chat/completions"]
            words += ["--base-url", endpoint.base_url, "--model", MODEL, "--tokenizer", tokenizer]
            words += ["--dataset-name", "random", "--random-input-len", "32"]
            words += ["--random-output-len", str(load.answer_tokens), "--num-prompts", str(load.requests)]
            words += ["--max-concurrency", str(load.streams), "--ignore-eos", "--disable-tqdm", "--temperature", "0"]
            words += ["--save-result", "--result-dir", folder, "--result-filename", "result.json"]
            cpu_s, _ = _run(words, {"VLLM_LOGGING_LEVEL": "ERROR", "HF_HUB_OFFLINE": "1"})
            said = json.loads((Path(folder) / "result.json").read_text())
        # 0.32.0 now and then fails to read an answer whose blocks end inside an event: it is then not counted.
        return Measured(
            said["output_throughput"],
            said["mean_ttft_ms"] / 1e3,
            said["mean_tpot_ms"] / 1e3,
            cpu_s,
            load.requests - said["completed"],
        )

    return measure


def _own(name: str, endpoint: Endpoint, load: Load) -> Measured:
    sizes = (load.streams, load.requests, load.answer_tokens)
    words = [sys.executable, "-m", "tests.bench.stream_tools", name, endpoint.base_url, *map(str, sizes)]
    cpu_s, said = _run(words, {})
    return Measured(**{**json.loads(said), "cpu_s": cpu_s})


def _run(words: Sequence[str], environment: dict[str, str]) -> tuple[float, str]:
    """CPU seconds of the process and of what it waited for, and what it wrote to stdout."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(words, stdout=out, stderr=err, env=os.environ | environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        assert process.returncode == 0, err.read()
        return usage.ru_utime + usage.ru_stime, out.read()


def _measure_here(name: str, endpoint: Endpoint, load: Load) -> Measured:
    if name == "lines":
        wall_s = asyncio.run(_lines(endpoint, load))
        return Measured(load.tokens / wall_s)
    prompts = [Prompt.user("hello " * 32, name=str(number)) for number in range(load.requests)]
    result = run_load(endpoint, prompts, max_tokens=load.answer_tokens, concurrency=load.streams)
    seen = summarise(result)
    assert not result.failed, result.failed
    assert seen.output_tokens == load.tokens
    assert seen.ttft_s is not None
    assert seen.tpot_s is not None
    return Measured(load.tokens / result.wall_s, seen.ttft_s.mean, seen.tpot_s.mean)


async def _lines(endpoint: Endpoint, load: Load) -> float:
    left = iter(range(load.requests))
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, read_bufsize=2**18) as session:

        async def worker() -> None:
            for _ in left:
                body = {"model": MODEL, "messages": [], "max_tokens": load.answer_tokens, "stream": True}
                text = []
                async with session.post(f"{endpoint.base_url}/v1/chat/completions", json=body) as response:
                    async for line in response.content:
                        if line.startswith(b"data: {"):
                            text += [choice["delta"].get("content") for choice in json.loads(line[6:])["choices"]]
                assert len("".join(text)) == 4 * load.answer_tokens

        loop = asyncio.get_running_loop()
        began = loop.time()
        await asyncio.gather(*(worker() for _ in range(load.streams)))
        return loop.time() - began


if __name__ == "__main__":
    _name, _url, *_sizes = sys.argv[1:]
    sys.stdout.write(json.dumps(asdict(_measure_here(_name, Endpoint(_url, MODEL), Load(*map(int, _sizes))))))
