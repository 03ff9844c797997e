"""Reads a file of results, whichever tool wrote it."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from inventory.errors import UsageError
from roles.load.files import aiperf, guidellm, saved, sglang_serving, vllm_serve
from roles.load.files.fields import Source
from roles.load.history import Run


class _Format(NamedTuple):
    recognise: Callable[[Mapping[str, object]], bool]
    runs: Callable[[Mapping[str, object], Source], Iterator[Run]]


_READABLE = (
    "invoke bench --host NAME --save FILE.json",
    "vllm bench serve ... --save-result --save-detailed",
    "guidellm run ... --output kind=json,path=FILE.json",
    "aiperf profile ... --use-server-token-count      (profile_export_aiperf.json)",
    "python -m sglang.bench_serving ... --output-file FILE.jsonl --output-details",
)
_FORMATS = tuple(_Format(room.recognise, room.runs) for room in (saved, guidellm, aiperf, sglang_serving, vllm_serve))


def read_results(path: Path, host: str) -> tuple[Run, ...]:
    """The runs in a file, in its order; host is where they were measured, unless the file says it.

    JSON, or a line of JSON for each result, as SGLang's benchmark and vLLM's --append-result write.
    A run's summary has "source": the file's name and SHA-256, and the run's place in it.
    Raises UsageError for a file that cannot be read or holds no results.
    """
    try:
        content = path.read_bytes()
        source = Source(host, path.name, datetime.fromtimestamp(path.stat().st_mtime, UTC))
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}", tries=["invoke history --all      (runs that are there)", _READABLE[0]]
        ) from error
    found = [run for document in _documents(path, content) for run in _runs(document, source)]
    if not found:
        raise UsageError(
            f"{path} holds no results that are known here",
            why=["Known are vllm bench serve, GuideLLM, AIPerf, SGLang's bench_serving, and invoke bench --save."],
            tries=_READABLE,
        )
    digest = hashlib.sha256(content).hexdigest()
    return tuple(
        replace(run, summary={**(run.summary or {}), "source": {"file": path.name, "sha256": digest, "place": place}})
        for place, run in enumerate(found, start=1)
    )


def _documents(path: Path, content: bytes) -> list[object]:
    text = content.decode("utf-8", "replace")
    try:
        whole = json.loads(text)
    except RecursionError as error:
        what = f"{path} is not JSON that can be read: it is nested too deeply"
        raise UsageError(what, tries=_READABLE) from error
    except ValueError as error:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            raise UsageError(f"{path} is not JSON: {error}", tries=_READABLE) from error
    return whole if isinstance(whole, list) else [whole]


def _runs(document: object, source: Source) -> Iterator[Run]:
    if not isinstance(document, Mapping):
        return
    for form in _FORMATS:
        if form.recognise(document):
            yield from form.runs(document, source)
            return
