"""Prometheus text with vLLM's names, labels and order, including the `_created` gauges that a reader must skip."""

import resource
from collections.abc import Iterator, Mapping, Sequence

from vllm.stats import Counts, Histogram, Load

Labels = Mapping[str, str]


def render(counts: Counts | None, load: Load, model_name: str, started_at: float) -> str:
    """All series. counts is None with --disable-log-stats, when vLLM has only those of the process.

    started_at: Unix time of the start, which tells a reset of the counters
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    lines = [
        *_gauge("process_resident_memory_bytes", "Resident memory size in bytes.", {}, usage.ru_maxrss * 1024),
        *_gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", {}, started_at),
        "# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.",
        "# TYPE process_cpu_seconds_total counter",
        _sample("process_cpu_seconds_total", {}, round(usage.ru_utime + usage.ru_stime, 2)),
    ]
    if counts is not None:
        labels = {"engine": "0", "model_name": model_name}
        lines += _rounds(counts, labels, started_at) if counts.k else ()
        lines += _requests(counts, load, labels, started_at)
        lines += _times(counts, labels, started_at)
    return "\n".join(lines) + "\n"


def _rounds(counts: Counts, labels: Labels, created: float) -> Iterator[str]:
    name = "vllm:spec_decode_num"
    yield from _counter(f"{name}_drafts", "Number of spec decoding drafts.", [(labels, counts.rounds)], created)
    yield from _counter(f"{name}_draft_tokens", "Number of draft tokens.", [(labels, counts.drafted)], created)
    yield from _counter(f"{name}_accepted_tokens", "Number of accepted tokens.", [(labels, counts.accepted)], created)
    positions = [({**labels, "position": str(i)}, count) for i, count in enumerate(counts.accepted_at)]
    yield from _counter(f"{name}_accepted_tokens_per_pos", "Accepted tokens per draft position.", positions, created)


def _requests(counts: Counts, load: Load, labels: Labels, created: float) -> Iterator[str]:
    yield from _gauge(
        "vllm:num_requests_running", "Number of requests in model execution batches.", labels, load.running
    )
    yield from _gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", labels, load.waiting)
    yield from _gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", labels, load.kv_usage)
    queried = [(labels, counts.prompt_tokens)]
    yield from _counter(
        "vllm:prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.", queried, created
    )
    yield from _counter(
        "vllm:prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.", [(labels, 0)], created
    )
    yield from _counter(
        "vllm:num_preemptions", "Cumulative number of preemption from the engine.", [(labels, 0)], created
    )
    yield from _counter(
        "vllm:prompt_tokens", "Number of prefill tokens processed.", [(labels, counts.prompt_tokens)], created
    )
    yield from _counter(
        "vllm:generation_tokens",
        "Number of generation tokens processed.",
        [(labels, counts.generation_tokens)],
        created,
    )
    finished = [({**labels, "finished_reason": reason}, count) for reason, count in counts.finished.items()]
    yield from _counter("vllm:request_success", "Count of successfully processed requests.", finished, created)


def _times(counts: Counts, labels: Labels, created: float) -> Iterator[str]:
    for name, text, histogram in (
        ("request_prompt_tokens", "Number of prefill tokens processed.", counts.request_prompt),
        ("request_generation_tokens", "Number of generation tokens processed.", counts.request_generation),
        ("iteration_tokens_total", "Histogram of number of tokens per engine_step.", counts.step_tokens),
        ("time_to_first_token_seconds", "Histogram of time to first token in seconds.", counts.first_token),
        ("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", counts.inter_token),
        (
            "request_time_per_output_token_seconds",
            "Histogram of time_per_output_token_seconds per request.",
            counts.per_output_token,
        ),
        ("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", counts.end_to_end),
        ("request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", counts.queued),
        ("request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", counts.prefilled),
        ("request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", counts.decoded),
    ):
        yield from _histogram(f"vllm:{name}", text, labels, histogram, created)


def _gauge(name: str, text: str, labels: Labels, value: float) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} gauge"
    yield _sample(name, labels, value)


def _counter(name: str, text: str, samples: Sequence[tuple[Labels, int]], created: float) -> Iterator[str]:
    yield f"# HELP {name}_total {text}"
    yield f"# TYPE {name}_total counter"
    for labels, value in samples:
        yield _sample(f"{name}_total", labels, value)
    yield f"# HELP {name}_created {text}"
    yield f"# TYPE {name}_created gauge"
    for labels, _ in samples:
        yield _sample(f"{name}_created", labels, created)


def _histogram(name: str, text: str, labels: Labels, histogram: Histogram, created: float) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} histogram"
    for bound, count in histogram.cumulative():
        yield _sample(f"{name}_bucket", {**labels, "le": bound}, count)
    yield _sample(f"{name}_count", labels, histogram.count)
    yield _sample(f"{name}_sum", labels, histogram.total)
    yield from _gauge(f"{name}_created", text, labels, created)


def _sample(name: str, labels: Labels, value: float) -> str:
    pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in sorted(labels.items()))
    return f"{name}{{{pairs}}} {float(value)!r}" if pairs else f"{name} {float(value)!r}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
