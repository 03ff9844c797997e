"""The load client as a program on the host itself: takes what to ask from stdin, tells lines of JSON on stdout.

It runs with the Python of the engine's own venv, whose packages it needs (aiohttp, numpy, pydantic: vLLM has them all).
Only what this file imports is sent there: see aboard.py.
"""

import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from pydantic import TypeAdapter

from inventory.errors import SpecrailError
from roles.load.arrivals import Arrivals
from roles.load.client import get
from roles.load.endpoint import Endpoint
from roles.load.prompts import Prompt
from roles.load.result import LoadResult, Progress, Sample
from roles.load.run import run_load

_TELL_EVERY_S = 0.5


@dataclass(frozen=True)
class Asked:
    """What `run_load` is to be called with; prompts under a name."""

    endpoint: Endpoint
    prompts: tuple[Prompt, ...]
    max_tokens: int
    concurrency: int
    arrivals: Arrivals | None
    warmup: int
    temperature: float
    seed: int | None
    deadline_s: float
    extra_body: Mapping[str, object]


def main() -> None:
    """Make the load that stdin asks for. A line of progress now and then, then the result: its samples line by line."""
    asked = TypeAdapter(Asked).validate_python(json.load(sys.stdin)["asked"])
    told_s = 0.0

    def progress(now: Progress) -> None:
        nonlocal told_s
        if now.done in {1, now.total} or time.monotonic() > told_s + _TELL_EVERY_S:
            told_s = time.monotonic()
            _tell("progress", asdict(replace(now, latest=_without_times(now.latest))))

    result = run_load(
        asked.endpoint,
        asked.prompts,
        max_tokens=asked.max_tokens,
        concurrency=asked.concurrency,
        arrivals=asked.arrivals,
        warmup=asked.warmup,
        temperature=asked.temperature,
        seed=asked.seed,
        deadline_s=asked.deadline_s,
        extra_body=asked.extra_body,
        on_progress=progress,
        scrape=lambda: _metrics(asked.endpoint),
    )
    for sample in result.samples:
        _tell("sample", asdict(sample))
    _tell("result", asdict(replace(result, samples=())))


def heard(lines: Mapping[str, list[object]]) -> LoadResult:
    """The result that `main` has told: {"sample": [...], "result": [one]}. Raises ValueError when it is not whole."""
    (document,) = lines.get("result") or [None]
    result = TypeAdapter(LoadResult).validate_python(document)
    return replace(result, samples=tuple(TypeAdapter(list[Sample]).validate_python(lines.get("sample", []))))


def _metrics(endpoint: Endpoint) -> str | None:
    with suppress(SpecrailError):
        return get(endpoint, "/metrics")[1]
    return None


def _without_times(sample: Sample) -> Sample:
    return replace(sample, completion=replace(sample.completion, arrivals_s=(), text="", reasoning=""))


def _tell(kind: str, what: object) -> None:
    sys.stdout.write(json.dumps({kind: what}, default=str) + "\n")
    sys.stdout.flush()
