"""What an engine did beside drafting while it was measured: preemptions, queueing, cache hits, from two readings."""

import re
from dataclasses import asdict, dataclass

_LINE = re.compile(r"^(vllm:[a-z_]+)(?:\{[^}]*\})?\s+([-+0-9.eE]+)\s*$")
_COUNTERS = {
    "vllm:num_preemptions_total": "preemptions",
    "vllm:prefix_cache_queries_total": "queried",
    "vllm:prefix_cache_hits_total": "hits",
    "vllm:request_queue_time_seconds_sum": "queued_s",
    "vllm:request_queue_time_seconds_count": "queued",
    "vllm:request_prefill_time_seconds_sum": "prefilled_s",
    "vllm:request_prefill_time_seconds_count": "prefilled",
}
_GAUGES = {
    "vllm:num_requests_running": "running",
    "vllm:num_requests_waiting": "waiting",
    "vllm:kv_cache_usage_perc": "kv_usage",
    "vllm:gpu_cache_usage_perc": "kv_usage",
}


@dataclass(frozen=True)
class EngineState:
    """Of the span between two readings; None is not exposed, or cannot be told.

    preemptions:     requests that lost their KV cache and were computed again
    prefix_hit_rate: prompt tokens found in the prefix cache, 0-1
    queue_s:         mean wait for a place in the batch; prefill_s: mean time for the prompt
    running, waiting, kv_usage: now, at the second reading; kv_usage is 0-1
    """

    preemptions: int | None = None
    prefix_hit_rate: float | None = None
    queue_s: float | None = None
    prefill_s: float | None = None
    running: int | None = None
    waiting: int | None = None
    kv_usage: float | None = None

    def as_json(self) -> dict[str, object]:
        """What is known."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def __str__(self) -> str:
        known = [
            f"{self.preemptions} preemptions" if self.preemptions is not None else "",
            f"queued {1e3 * self.queue_s:.0f} ms" if self.queue_s is not None else "",
            f"prefill {1e3 * self.prefill_s:.0f} ms" if self.prefill_s is not None else "",
            f"prefix cache hits {100 * self.prefix_hit_rate:.0f} %" if self.prefix_hit_rate is not None else "",
            f"KV cache {100 * self.kv_usage:.0f} % full at the end" if self.kv_usage is not None else "",
            f"{self.waiting} still waiting" if self.waiting else "",
        ]
        return ", ".join(part for part in known if part)


def engine_state(before: str | None, after: str | None) -> EngineState:
    """From the texts of /metrics before and after. A counter that went back (a restart) counts from its start."""
    if after is None:
        return EngineState()
    was, now = _read(before or ""), _read(after)

    def grown(name: str) -> float | None:
        value = now.get(name)
        if value is None or before is None:
            return None
        return value - was[name] if was.get(name, 0) <= value and name in was else value

    preemptions, running, waiting = grown("preemptions"), now.get("running"), now.get("waiting")
    return EngineState(
        preemptions=None if preemptions is None else int(preemptions),
        prefix_hit_rate=_ratio(grown("hits"), grown("queried")),
        queue_s=_ratio(grown("queued_s"), grown("queued")),
        prefill_s=_ratio(grown("prefilled_s"), grown("prefilled")),
        running=None if running is None else int(running),
        waiting=None if waiting is None else int(waiting),
        kv_usage=now.get("kv_usage"),
    )


def _read(text: str) -> dict[str, float]:
    """Counters of all engines added, gauges too, but the fullest cache."""
    values: dict[str, float] = {}
    for line in text.splitlines():
        found = _LINE.match(line)
        name = found and (_COUNTERS.get(found[1]) or _GAUGES.get(found[1]))
        if not found or not name:
            continue
        try:
            value = float(found[2])
        except ValueError:
            continue
        if not 0 <= value < float("inf"):
            continue
        values[name] = max(values.get(name, 0), value) if name == "kv_usage" else values.get(name, 0) + value
    return values


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
