"""Summaries of AIPerf (profile_export_aiperf.json), which are GenAI-Perf's too, as runs."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from roles.load.files.fields import Source, failures
from roles.load.history import Run
from roles.load.values import at, known, number, row, text, whole

TOOL = "aiperf"
_OWN_COUNT = 0.02


def recognise(document: Mapping[str, object]) -> bool:
    """Whether it is one. Schema 1.4 (AIPerf 0.13)."""
    return all(number(document, name, "avg") is not None for name in ("output_token_throughput", "request_latency"))


def runs(document: Mapping[str, object], source: Source) -> Iterator[Run]:
    """The run in it. AIPerf calls the TPOT inter_token_latency, and the gaps between events inter_chunk_latency."""
    count, prompt_tokens = (whole(document, name, "avg") for name in ("request_count", "total_isl"))
    phase = next((one for one in row(document, "input_config", "phases") if at(one, "kind") != "warmup"), None)
    data = next(iter(row(document, "input_config", "datasets")), None)
    model = next(iter(row(document, "input_config", "models", "items")), None)
    counts = _counts(document)
    rate = number(phase, "rate")
    conditions = known(
        {
            "tool": f"{TOOL} {text(document, 'aiperf_version') or ''}".strip(),
            "model": text(model, "name"),
            "prompts": f"{text(data, 'type') or 'unknown'}: {count} prompts, {prompt_tokens} tokens",
            "max_tokens": whole(data, "prompts", "osl", "mean")
            if not number(data, "prompts", "osl", "stddev")
            else None,
            "concurrency": whole(phase, "concurrency"),
            "load": "closed loop" if rate is None else "open loop",
            "rate": rate,
        }
    )
    summary = known(
        {
            "total_tok_s": number(document, "output_token_throughput", "avg"),
            "output_tokens": whole(document, "total_osl", "avg"),
            "prompt_tokens": prompt_tokens,
            "requests_ok": count,
            "wall_s": number(document, "benchmark_duration", "avg"),
            "request_goodput": number(document, "goodput", "avg"),
            "ttft_s": _spread(document, "time_to_first_token"),
            "tpot_s": _spread(document, "inter_token_latency"),
            "itl_s": _spread(document, "inter_chunk_latency"),
            "e2e_s": _spread(document, "request_latency"),
        }
    )
    doubts = (*failures(count, whole(document, "error_request_count", "avg")), *_own_tokens(document))
    when = _when(document.get("start_time")) or source.at
    yield Run("bench", source.host, source.name, when, conditions, summary, counts, doubts=doubts)


def _own_tokens(document: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """By default it counts tokens with a tokenizer of its own: with another one every rate is of other tokens."""
    own, servers = number(document, "total_osl", "avg"), number(document, "usage_completion_tokens", "sum")
    if own and servers and abs(own / servers - 1) > _OWN_COUNT:
        message = f"{TOOL} counted {own:.0f} tokens, the server {servers:.0f} (aiperf --use-server-token-count)"
        yield {"kind": "no-counts", "message": message, "spoils": True, "prompts": []}


def _counts(document: Mapping[str, object]) -> dict[str, object] | None:
    """From how many rounds accepted exactly 0, 1, 2 ... tokens; k is not said where the last of them never came."""
    histogram = at(document, "pooled_spec_decode_acceptance_histogram")
    if not isinstance(histogram, Mapping):
        return None
    steps = {int(str(length)): whole(histogram, str(length)) or 0 for length in histogram if str(length).isdecimal()}
    rounds, longest = sum(steps.values()), min(max(steps, default=0), 64)
    if rounds <= 0:
        return None
    reached = [sum(count for length, count in steps.items() if length > place) for place in range(longest)]
    return {"rounds": rounds, "accepted": sum(reached), "drafted": 0, "per_position": reached, "k": None}


def _spread(document: Mapping[str, object], name: str) -> dict[str, float] | None:
    values = {ours: number(document, name, theirs) for ours, theirs in _FIELDS.items()}
    return {ours: value / 1e3 for ours, value in values.items() if value is not None} or None


_FIELDS = {"mean": "avg", "p50": "p50", "p90": "p90", "p99": "p99"}


def _when(said: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(said))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)  # its machine's own clock, without a zone
