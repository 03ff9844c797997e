"""Runs the stand-in engine as the process that it is, and talks to it over HTTP."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import requests
from prometheus_client.parser import text_string_to_metric_families

TIMEOUT_S = 30
READY = "Application startup complete."


@dataclass(frozen=True)
class Launch:
    """How an engine is started: `build` is the folder of its sources, `tools` the one that nvidia-smi is in."""

    build: Path
    models: Path
    tools: Path
    caches: Path
    clock: float = 50
    target: str = "Qwen3.6-27B"
    drafter: Path | None = None
    k: int = 0
    flags: Sequence[str] = ("--tensor-parallel-size", "2")
    environment: Mapping[str, str] = field(default_factory=dict)

    def command(self, port: int) -> list[str]:
        """Return the command line, as a launch script would have it."""
        words = [sys.executable, "-m", "vllm", "serve", str(self.models / self.target), "--host", "127.0.0.1"]
        words += ["--port", str(port), "--served-model-name", "lab", "--max-model-len", "32768", *self.flags]
        if self.k:
            config: dict[str, Any] = {"num_speculative_tokens": self.k}
            config |= {"method": "dflash", "model": str(self.drafter)} if self.drafter else {"method": "mtp"}
            words += ["--speculative-config", json.dumps(config)]
        return words

    def variables(self) -> dict[str, str]:
        """Return the whole environment: nothing of the tester's own, but PATH."""
        return {
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "PYTHONPATH": str(self.build),
            "PYTHONDONTWRITEBYTECODE": "1",
            "VLLM_CACHE_ROOT": str(self.caches),
            "SPECRAIL_LAB_CLOCK": str(self.clock),
            **self.environment,
        }


class Engine:
    """A running engine; the context ends it. `log` has the lines so far, of stdout and stderr."""

    def __init__(self, launch: Launch, port: int | None = None) -> None:
        self.port = port or free_port()
        self.log: list[str] = []
        self._news = threading.Condition()
        self._process = subprocess.Popen(
            launch.command(self.port),
            env=launch.variables(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self.wait()

    def ready(self) -> Self:
        """Wait until it serves."""
        self.wait_for(READY)
        return self

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until `times` lines of the log have the text. Fails with the log when the process ends before that."""
        self.wait_until(lambda: sum(text in line for line in self.log) >= times, repr(text))

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds of the log. Fails with the log when the process ends before that."""
        with self._news:
            while not holds():
                assert self._reader.is_alive(), "\n".join(self.log)
                assert self._news.wait(TIMEOUT_S), f"no {what} in\n" + "\n".join(self.log)

    def wait(self) -> int:
        """Wait for the end; returns the exit status."""
        status = self._process.wait(TIMEOUT_S)
        self._reader.join(TIMEOUT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return status

    def terminate(self) -> int:
        """Send SIGTERM; returns the exit status."""
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    @property
    def text(self) -> str:
        """The whole log."""
        return "\n".join(self.log)

    def url(self, path: str) -> str:
        """Return the address of a route."""
        return f"http://127.0.0.1:{self.port}{path}"

    def get(self, path: str) -> requests.Response:
        """Ask for something."""
        return requests.get(self.url(path), timeout=TIMEOUT_S)

    def chat(self, prompt: str, max_tokens: int = 40, **more: Any) -> dict[str, Any]:
        """Complete a chat at temperature 0; returns the answer."""
        answer = requests.post(
            self.url("/v1/chat/completions"), json=chat(prompt, max_tokens, **more), timeout=TIMEOUT_S
        )
        assert answer.ok, answer.text
        return dict(answer.json())

    def chats(self, prompts: Sequence[str], max_tokens: int = 40, concurrency: int = 16) -> list[dict[str, Any]]:
        """Complete many chats, some at a time."""
        with ThreadPoolExecutor(concurrency) as pool:
            return list(pool.map(lambda prompt: self.chat(prompt, max_tokens, ignore_eos=True), prompts))

    def stream(self, path: str, body: Mapping[str, Any]) -> list[Any]:
        """Return the events of a stream: JSON read, and "[DONE]" as it is."""
        with requests.post(self.url(path), json={**body, "stream": True}, stream=True, timeout=TIMEOUT_S) as answer:
            lines = [line.decode() for line in answer.iter_lines() if line]
        assert all(line.startswith("data: ") for line in lines)
        return [line[6:] if line == "data: [DONE]" else json.loads(line[6:]) for line in lines]

    def metrics(self) -> dict[str, float]:
        """Return all samples; the name carries the labels beyond engine and model: `name{position="0"}`."""
        return dict(_samples(self.get("/metrics").text))

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._news:
                self.log.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._news.notify_all()


def chat(prompt: str, max_tokens: int = 40, **more: Any) -> dict[str, Any]:
    """Return the body of a chat completion at temperature 0."""
    message = {"role": "user", "content": prompt}
    return {"model": "lab", "messages": [message], "max_tokens": max_tokens, "temperature": 0, **more}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _samples(text: str) -> Iterator[tuple[str, float]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            more = sorted((key, value) for key, value in sample.labels.items() if key not in ("engine", "model_name"))
            labels = ",".join(f'{key}="{value}"' for key, value in more)
            yield sample.name + (f"{{{labels}}}" if labels else ""), sample.value
