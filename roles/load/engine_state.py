"""What an engine did while it was measured: queue, KV cache, preemptions and cache hits, from readings of /metrics."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

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
class Gauges:
    """What an engine was busy with at one time; None is not exposed. kv_usage is 0-1, of the fullest engine."""

    running: float | None = None
    waiting: float | None = None
    kv_usage: float | None = None


@dataclass(frozen=True)
class Level:
    """A gauge over the readings of a run."""

    mean: float
    peak: float


@dataclass(frozen=True)
class EngineState:
    """Of the span between two readings; None is not exposed, or cannot be told.

    preemptions:     requests that lost their KV cache and were computed again
    prefix_hit_rate: prompt tokens found in the prefix cache, 0-1
    queue_s:         mean wait for a place in the batch; prefill_s: mean time for the prompt
    running, waiting, kv_usage: over the readings during the run; kv_usage is 0-1
    readings:        how many those are; what came and went between two of them is not seen
    busy_before:     requests that were running or waiting before the first one of the run was sent
    """

    preemptions: int | None = None
    prefix_hit_rate: float | None = None
    queue_s: float | None = None
    prefill_s: float | None = None
    running: Level | None = None
    waiting: Level | None = None
    kv_usage: Level | None = None
    readings: int = 0
    busy_before: int | None = None

    def as_json(self) -> dict[str, object]:
        """What is known."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def __str__(self) -> str:
        running, waiting, cache = self.running, self.waiting, self.kv_usage
        known = [
            f"{running.mean:.1f} running (at most {running.peak:.0f})" if running else "",
            f"{waiting.mean:.1f} waiting (at most {waiting.peak:.0f})" if waiting and waiting.peak else "",
            f"KV cache {100 * cache.mean:.0f} % full (at most {100 * cache.peak:.0f} %)" if cache else "",
            f"{self.preemptions} preemptions" if self.preemptions is not None else "",
            f"queued {1e3 * self.queue_s:.0f} ms" if self.queue_s is not None else "",
            f"prefill {1e3 * self.prefill_s:.0f} ms" if self.prefill_s is not None else "",
            f"prefix cache hits {100 * self.prefix_hit_rate:.0f} %" if self.prefix_hit_rate is not None else "",
        ]
        return ", ".join(part for part in known if part)


def gauges(text: str | None) -> Gauges:
    """What a text of /metrics says of its moment."""
    now = _read(text or "")
    return Gauges(now.get("running"), now.get("waiting"), now.get("kv_usage"))


def while_busy(readings: Sequence[Gauges]) -> tuple[Gauges, ...]:
    """Those from the first to the last in which a request was running or waiting."""
    busy = [place for place, one in enumerate(readings) if one.running or one.waiting]
    return tuple(readings[busy[0] : busy[-1] + 1]) if busy else ()


def engine_state(before: str | None, after: str | None, between: Sequence[Gauges] = ()) -> EngineState:
    """From the texts of /metrics before and after, and what was seen meanwhile.

    A counter that went back (a restart) counts from its start. What it was busy with before or after says nothing about
    the run.
    """
    if after is None:
        return EngineState()
    was, now = _read(before or ""), _read(after)

    def grown(name: str) -> float | None:
        value = now.get(name)
        if value is None or before is None:
            return None
        return value - was[name] if was.get(name, 0) <= value and name in was else value

    preemptions, busy = grown("preemptions"), [was.get(name) for name in ("running", "waiting")]
    return EngineState(
        preemptions=None if preemptions is None else int(preemptions),
        prefix_hit_rate=_ratio(grown("hits"), grown("queried")),
        queue_s=_ratio(grown("queued_s"), grown("queued")),
        prefill_s=_ratio(grown("prefilled_s"), grown("prefilled")),
        running=_level([one.running for one in between]),
        waiting=_level([one.waiting for one in between]),
        kv_usage=_level([one.kv_usage for one in between]),
        readings=len(between),
        busy_before=None if busy[0] is None else int(busy[0] + (busy[1] or 0)),
    )


def _level(values: Sequence[float | None]) -> Level | None:
    known = [value for value in values if value is not None]
    return Level(fmean(known), max(known)) if known else None


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
