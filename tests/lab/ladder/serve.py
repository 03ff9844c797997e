"""Serving a tiny model with one rung, sending it real requests, and keeping what it printed and counted."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import requests

from tests.lab.ladder.install import Rung

_INTERVAL_S = 2
_START_S = 420
_STOP_S = 60
_LAST_LINE_S = 30

PROMPTS = (
    "def read(path):\n    with open(path) as file:\n",
    "class Reader:\n    def __init__(self, name):\n",
    "import os\nimport sys\n\ndef main(argv):\n",
    "for name in sorted(names):\n    if name not in",
    "    def close(self):\n        self._closed = True\n",
    "try:\n    value = int(text)\nexcept ValueError:\n",
)


@dataclass(frozen=True)
class Ran:
    """One server's life: its whole log, and /metrics before the first request and after the last."""

    log: str
    before: str
    after: str


@dataclass(frozen=True)
class Died:
    """A server that did not come up, or fell over its first request: its log, and how far it came."""

    log: str
    why: str


def run(
    rung: Rung, target: Path, speculative: dict[str, object] | None, folder: Path, drafts_told: Callable[[str], int]
) -> Ran | Died:
    """Serve, ask, wait until the log tells all drafts that the counters have, stop.

    drafts_told: drafted tokens that a log tells of
    """
    log = folder / "serve.log"
    with _server(rung, target, speculative, log) as (process, root):
        if (why := _wait(process, root)) is not None:
            return Died(log.read_text(errors="replace"), why)
        before = _get(f"{root}/metrics")
        try:
            for prompt in PROMPTS:
                _complete(root, prompt)
        except OSError as error:
            return Died(log.read_text(errors="replace"), f"a request failed: {error}")
        after = _settled(root)
        if speculative is not None:
            _until(lambda: drafts_told(log.read_text(errors="replace")) >= _drafted(after), _LAST_LINE_S)
    return Ran(log.read_text(errors="replace"), before, after)


@contextlib.contextmanager
def _server(
    rung: Rung, target: Path, speculative: dict[str, object] | None, log: Path
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [str(rung.vllm), "serve", str(target), "--host", "127.0.0.1", "--port", str(port)]
    argv += ["--served-model-name", "tiny", "--max-model-len", "2048", "--dtype", "bfloat16", "--enforce-eager"]
    if speculative is not None:
        argv += ["--speculative-config", json.dumps(speculative)]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        process = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, env=_env(rung), start_new_session=True)
        try:
            yield process, f"http://127.0.0.1:{port}"
        finally:
            _stop(process)


def _env(rung: Rung) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    openmp = rung.venv / "lib" / "libiomp5.so"
    return {
        **kept,
        **({"LD_PRELOAD": str(openmp)} if openmp.exists() else {}),
        "PATH": f"{rung.venv / 'bin'}:{kept['PATH']}",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind" if rung.numbers >= (0, 23) else "0-1",  # 0.20 falls over "nobind"
        "OMP_NUM_THREADS": "2",
        "HF_HUB_OFFLINE": "1",
        "VLLM_LOG_STATS_INTERVAL": str(_INTERVAL_S),
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CACHE_ROOT": str(rung.venv / "cache"),
        "PYTHONUNBUFFERED": "1",
    }


def _wait(process: "subprocess.Popen[bytes]", root: str) -> str | None:
    """None once it serves; otherwise why not."""
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if (status := process.poll()) is not None:
            return f"the server ended with status {status}"
        with contextlib.suppress(OSError):
            if "tiny" in _get(f"{root}/v1/models"):
                return None
        time.sleep(0.5)
    return f"the server did not serve within {_START_S} s"


def _complete(root: str, prompt: str) -> None:
    body = {"model": "tiny", "prompt": prompt, "max_tokens": 96, "temperature": 0, "ignore_eos": True}
    requests.post(f"{root}/v1/completions", json=body, timeout=300).raise_for_status()


def _get(url: str) -> str:
    answer = requests.get(url, timeout=20)
    answer.raise_for_status()
    return answer.text


def _settled(root: str) -> str:
    """/metrics once it stays the same: the last round is counted a moment after its answer was sent."""
    last = ""

    def same() -> bool:
        nonlocal last
        now = "\n".join(line for line in _get(f"{root}/metrics").splitlines() if line.startswith("vllm:spec_decode"))
        was, last = last, now
        return now == was

    _until(same, 10, pause_s=0.5)
    return _get(f"{root}/metrics")


def _drafted(metrics: str) -> float:
    return sum(
        float(line.rsplit(" ", 1)[1])
        for line in metrics.splitlines()
        if line.startswith("vllm:spec_decode_num_draft_tokens_total")
    )


def _until(done: Callable[[], bool], timeout_s: float, pause_s: float = 0.5) -> None:
    deadline = time.monotonic() + timeout_s
    while not done() and time.monotonic() < deadline:
        time.sleep(pause_s)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Politely, then not; its children have its process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
