"""Reports of GuideLLM (`guidellm run --output kind=json`) as runs, one for each of their benchmarks."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from roles.load.files.fields import Source, failures, rates_of
from roles.load.history import Run
from roles.load.values import at, known, number, row, text, whole

TOOL = "guidellm"


def recognise(document: Mapping[str, object]) -> bool:
    """Whether it is one. GuideLLM 0.8 was run for this; 0.3-0.5 write the same fields, as their schemas say."""
    first = next(iter(row(document, "benchmarks")), None)
    return at(first, "metrics", "time_to_first_token_ms") is not None


def runs(document: Mapping[str, object], source: Source) -> Iterator[Run]:
    """Its benchmarks in order. TTFT is inside GuideLLM's time_per_output_token; its inter_token_latency is the TPOT."""
    for benchmark in row(document, "benchmarks"):
        strategy = at(benchmark, "config", "strategy") or at(benchmark, "args", "strategy")
        requests = _requests(benchmark)
        totals = at(benchmark, "metrics", "request_totals")
        conditions = known(
            {
                "tool": f"{TOOL} {text(document, 'metadata', 'guidellm_version') or ''}".strip(),
                "model": text(benchmark, "config", "backend", "model") or text(benchmark, "worker", "backend_model"),
                "prompts": _prompts(requests, _sum(benchmark, "prompt_token_count")),
                "max_tokens": _most_tokens(document),
                "concurrency": _streams(strategy),
                "rate": (rate := number(strategy, "rate")),
                "load": "closed loop" if rate is None else "open loop",
            }
        )
        began, ended = number(benchmark, "start_time"), number(benchmark, "end_time")
        summary = known(
            {
                "total_tok_s": number(benchmark, "metrics", "output_tokens_per_second", "successful", "mean"),
                "output_tokens": _sum(benchmark, "output_token_count"),
                "prompt_tokens": _sum(benchmark, "prompt_token_count"),
                "requests_ok": whole(totals, "successful"),
                "wall_s": number(benchmark, "duration") or (ended - began if began and ended else None),
                "ttft_s": _spread(benchmark, "time_to_first_token_ms", 1e-3),
                "tpot_s": _spread(benchmark, "inter_token_latency_ms", 1e-3),
                "e2e_s": _spread(benchmark, "request_latency", 1),
                **rates_of(requests),
                "requests": requests or None,
            }
        )
        doubts = (
            *failures(whole(totals, "successful"), whole(totals, "errored")),
            *(
                {"kind": "tool", "message": f"{TOOL}: {said}", "spoils": False, "prompts": []}
                for warning in row(benchmark, "warnings")
                if (said := text(warning, "message"))
            ),
        )
        when = source.at if began is None else datetime.fromtimestamp(began, UTC)
        yield Run("bench", source.host, source.name, when, conditions, summary, doubts=doubts)


def _streams(strategy: object) -> int | None:
    if text(strategy, "type_") == "synchronous":
        return 1
    return whole(strategy, "streams")


def _most_tokens(document: object) -> int | None:
    data = next(iter(row(document, "config", "spec", "data")), None)
    return whole(data, "output_tokens") if number(data, "output_tokens_stdev") is None else None


def _spread(benchmark: object, name: str, factor: float) -> dict[str, float] | None:
    found = at(benchmark, "metrics", name, "successful")
    values = {
        "mean": number(found, "mean"),
        "p50": number(found, "median"),
        "p90": number(found, "percentiles", "p90"),
        "p99": number(found, "percentiles", "p99"),
    }
    return {key: factor * value for key, value in values.items() if value is not None} or None


def _sum(benchmark: object, name: str) -> int | None:
    return whole(benchmark, "metrics", name, "successful", "total_sum")


def _prompts(requests: list[dict[str, object]], tokens: int | None) -> str:
    """A sample of the requests may be all that the file holds: then their number tells it apart."""
    said = hashlib.sha256("\n".join(sorted(str(request["prompt"]) for request in requests)).encode())
    return f"{len(requests)} prompts, {tokens} tokens, {said.hexdigest()[:8]}"


def _requests(benchmark: object) -> list[dict[str, object]]:
    began = number(benchmark, "start_time") or 0.0
    found: list[dict[str, object]] = []
    for place, request in enumerate(row(benchmark, "requests", "successful")):
        ttft, latency_s = number(request, "time_to_first_token_ms"), number(request, "request_latency")
        tokens = whole(request, "output_tokens")
        if latency_s is None or tokens is None:
            continue
        found.append(
            {
                "prompt": _name(request) or f"{place}",
                "kind": "",
                "started_s": round((number(request, "request_start_time") or began) - began, 6),
                "ttft_s": None if ttft is None else ttft / 1e3,
                "latency_s": latency_s,
                "tokens": tokens,
            }
        )
    return found


def _name(request: object) -> str | None:
    """A prompt's digest: what was asked is in request_args, as JSON, among what differs from run to run."""
    asked: object = text(request, "prompt")
    if said := text(request, "request_args"):
        try:
            body = at(json.loads(said), "body")
        except (ValueError, RecursionError):
            body = None
        asked = at(body, "messages") or at(body, "prompt") or asked
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:12] if asked else None
