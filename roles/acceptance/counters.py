"""vLLM's counters: a reading of /metrics, and the exact window between two readings."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import isfinite

from prometheus_client.parser import text_string_to_metric_families

from roles.acceptance.window import Window, pool, with_doubts

_ROUNDS = "vllm:spec_decode_num_drafts"
_DRAFTED = "vllm:spec_decode_num_draft_tokens"
_ACCEPTED = "vllm:spec_decode_num_accepted_tokens"
_PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos"
_GENERATED = "vllm:generation_tokens"
_PREEMPTIONS = "vllm:num_preemptions"
_RUNNING = "vllm:num_requests_running"
_WAITING = "vllm:num_requests_waiting"
_KV_USAGE = "vllm:kv_cache_usage_perc"
_START = "process_start_time_seconds"

# As vLLM 0.8-0.33 exposes it -> as it is called here. Python's client adds _total to counters; `_created` is a time.
_NAMES = {
    **{f"{name}_total": name for name in (_ROUNDS, _DRAFTED, _ACCEPTED, _PER_POSITION, _GENERATED, _PREEMPTIONS)},
    _RUNNING: _RUNNING,
    _WAITING: _WAITING,
    _KV_USAGE: _KV_USAGE,
    "vllm:gpu_cache_usage_perc": _KV_USAGE,  # up to 0.11
    _START: _START,
}


_POSITION = re.compile(r"[0-9]{1,3}")


@dataclass(frozen=True)
class EngineCounters:
    """What one engine (or all of them together) has counted since it started; None for what it does not expose.

    running and waiting are requests now; kv_usage is 0-1, now.
    """

    engine: str | None
    rounds: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    per_position: tuple[int, ...] = ()
    generated: int | None = None
    running: int | None = None
    waiting: int | None = None
    kv_usage: float | None = None
    preemptions: int | None = None


@dataclass(frozen=True)
class Counters:
    """One reading of /metrics.

    engines:   by engine label, in its order
    started_s: process_start_time_seconds, Unix time; None when it is not exposed
    read_at_s: when it was read, on the reader's own monotonic clock
    unread:    lines that should have been counted and were not understood
    """

    engines: tuple[EngineCounters, ...] = ()
    started_s: float | None = None
    read_at_s: float | None = None
    unread: tuple[str, ...] = ()

    @property
    def total(self) -> EngineCounters:
        """All engines together: counts and requests added, the fullest KV cache."""
        return EngineCounters(
            engine=None,
            rounds=_add(engine.rounds for engine in self.engines),
            drafted=_add(engine.drafted for engine in self.engines),
            accepted=_add(engine.accepted for engine in self.engines),
            per_position=_add_positions([engine.per_position for engine in self.engines]),
            generated=_add(engine.generated for engine in self.engines),
            running=_add(engine.running for engine in self.engines),
            waiting=_add(engine.waiting for engine in self.engines),
            kv_usage=max((engine.kv_usage for engine in self.engines if engine.kv_usage is not None), default=None),
            preemptions=_add(engine.preemptions for engine in self.engines),
        )


def read(text: str, *, read_at_s: float | None = None) -> Counters:
    """Read a /metrics answer. Anything else than one gives a reading without engines; nothing raises."""
    values: dict[tuple[str | None, str, str], float] = {}
    started_s = None
    unread = []
    for line in text.splitlines():
        if not line.startswith(("vllm:", _START)):
            continue
        spelling = line[: _end_of_name(line)]
        name = _NAMES.get(spelling)
        if name is None:
            continue
        sample = _sample(line)
        if sample is None:
            unread.append(line[:200])
            continue
        labels, value = sample
        if name == _START:
            started_s = value
            continue
        position = labels.get("position", "")
        if name == _PER_POSITION and not _POSITION.fullmatch(position):
            unread.append(line[:200])
            continue
        key = (labels.get("engine"), name, position)
        if name == _KV_USAGE:
            values[key] = value  # 0.10 and 0.11 expose it under both names
        else:  # one engine's work under several model names (LoRA adapters) is added
            values[key] = values.get(key, 0.0) + value
    engines = sorted({engine for engine, _, _ in values}, key=_engine_order)
    return Counters(tuple(_engine(engine, values) for engine in engines), started_s, read_at_s, tuple(unread))


def delta(before: Counters, after: Counters) -> Window:
    """What all engines did between two readings, exactly. Without data: an empty window whose doubts say why."""
    windows = per_engine(before, after)
    if not windows:
        return Window(doubts=(_why_nothing(after),))
    pooled = pool(windows)
    if pooled.rounds:
        return pooled
    reasons = tuple(dict.fromkeys(doubt for window in windows for doubt in window.doubts))
    return Window(generated=pooled.generated, span_s=pooled.span_s, doubts=reasons)


def per_engine(before: Counters, after: Counters) -> tuple[Window, ...]:
    """The same for each engine that `after` knows, in its order."""
    known = {engine.engine: engine for engine in before.engines}
    restarted = None not in (before.started_s, after.started_s) and before.started_s != after.started_s
    span_s = None
    if before.read_at_s is not None and after.read_at_s is not None:
        span_s = after.read_at_s - before.read_at_s
    return tuple(
        _window(known.get(engine.engine, EngineCounters(engine.engine)), engine, restarted, span_s)
        for engine in after.engines
    )


def _window(old: EngineCounters, new: EngineCounters, restarted: bool, span_s: float | None) -> Window:
    if new.rounds is None or new.drafted is None or new.accepted is None:
        counts = {"drafts": new.rounds, "draft tokens": new.drafted, "accepted tokens": new.accepted}
        missing = ", ".join(name for name, count in counts.items() if count is None)
        why = "the engine counts no drafts: it runs without speculation"
        if any(count is not None for count in counts.values()):
            why = f"the engine does not count {missing}"
        generated = None if new.generated is None else new.generated - (old.generated or 0)
        return Window(generated=generated, span_s=span_s, engine=new.engine, doubts=(why,))
    doubts = []
    if restarted or _went_back(old, new):
        old = EngineCounters(old.engine)
        doubts.append("the server restarted between the readings: counted from its start")
    rounds = new.rounds - (old.rounds or 0)
    drafted = new.drafted - (old.drafted or 0)
    positions = zip_longest(new.per_position, old.per_position[: len(new.per_position)], fillvalue=0)
    per_position = tuple(now - was for now, was in positions)
    if not rounds:
        doubts.append("no drafts were made between the readings")
    return with_doubts(
        Window(
            rounds=rounds,
            accepted=new.accepted - (old.accepted or 0),
            drafted=drafted,
            per_position=per_position,
            k=_tokens_a_round(per_position, rounds, drafted),
            generated=None if new.generated is None else new.generated - (old.generated or 0),
            span_s=span_s,
            engine=new.engine,
            source="counters",
            doubts=tuple(doubts),
        )
    )


def _tokens_a_round(counts: Sequence[int], rounds: int, drafted: int) -> int | None:
    """k: one series a position; without them, what was drafted a round if that is a whole number."""
    if counts:
        return len(counts)
    return drafted // rounds if rounds > 0 and drafted % rounds == 0 else None


def _went_back(old: EngineCounters, new: EngineCounters) -> bool:
    was = (old.rounds, old.drafted, old.accepted, old.generated, *old.per_position)
    now = (new.rounds, new.drafted, new.accepted, new.generated, *new.per_position)
    return any(a is not None and b is not None and b < a for a, b in zip(was, now, strict=False))


def _why_nothing(after: Counters) -> str:
    if after.unread:
        return f"no data: {len(after.unread)} counter lines were not understood, the first is {after.unread[0]!r}"
    if after.started_s is not None:
        return "no data: the engine exposes no vllm: counters (statistics are off with --disable-log-stats)"
    return "no data: the answer holds no vllm: counters (is this the engine's /metrics?)"


def _end_of_name(line: str) -> int:
    return next((i for i, char in enumerate(line) if char in "{ \t"), len(line))


def _sample(line: str) -> tuple[dict[str, str], float] | None:
    """Labels and value of one line; None when it is not understood or the value cannot be a count."""
    try:
        samples = [sample for family in text_string_to_metric_families(line) for sample in family.samples]
    except (ValueError, IndexError, KeyError):
        return None
    if len(samples) != 1 or not isfinite(samples[0].value) or samples[0].value < 0:
        return None
    return samples[0].labels, samples[0].value


def _engine_order(engine: str | None) -> tuple[int, int, str]:
    if engine is None:
        return (0, 0, "")
    return (1, int(engine), "") if _POSITION.fullmatch(engine) else (2, 0, engine)


def _engine(engine: str | None, values: dict[tuple[str | None, str, str], float]) -> EngineCounters:
    def count(name: str) -> int | None:
        value = values.get((engine, name, ""))
        return None if value is None else int(value)

    positions = {int(p): int(v) for (e, name, p), v in values.items() if e == engine and name == _PER_POSITION}
    return EngineCounters(
        engine=engine,
        rounds=count(_ROUNDS),
        drafted=count(_DRAFTED),
        accepted=count(_ACCEPTED),
        per_position=tuple(positions.get(i, 0) for i in range(max(positions) + 1)) if positions else (),
        generated=count(_GENERATED),
        running=count(_RUNNING),
        waiting=count(_WAITING),
        kv_usage=values.get((engine, _KV_USAGE, "")),
        preemptions=count(_PREEMPTIONS),
    )


def _add(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _add_positions(counts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    deepest = max((len(positions) for positions in counts), default=0)
    return tuple(sum(positions[i] for positions in counts if i < len(positions)) for i in range(deepest))
