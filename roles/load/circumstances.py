"""What was around a run and not in its answers: other work, the engine's limits, and a schedule that was not kept."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from roles.load.doubt import Doubt
from roles.load.engine_state import EngineState
from roles.load.result import LoadResult, Sample

_OTHER_TRAFFIC_SHARE = 0.02
_OTHER_TRAFFIC_TOKENS = 32
_PREFIX_HIT_SHARE = 0.2
_LATE_S = 0.01  # at the 99th percentile
_LATE_SHARE = 0.25  # of the median wait for the first token
IDLE_UTILIZATION = 0.1
"""A GPU is idle up to here (0-1): one on which nothing runs says 0, a desktop a few percent."""
_HEAT_SHARE = 0.05  # of the readings
_LEAST_ARRIVALS = 20
_LEAST_PILE = 8


def around(result: LoadResult, state: EngineState, generation_tokens: int | None) -> list[Doubt | None]:
    """What is doubtful about the circumstances of a run; None for each thing that is well.

    generation_tokens: what the server's counter of generated tokens grew by over the counted span.
    """
    return [
        _busy_before(state),
        _other_traffic(result, generation_tokens),
        _late(result),
        _overloaded(result),
        _queued(result, state),
        _preempted(state),
        _prefix_cache(state.prefix_hit_rate),
    ]


def gpu_doubts(idle_utilization: float | None, heat: float | None, state: EngineState) -> list[Doubt]:
    """What the GPUs say.

    idle_utilization: how busy the engine's GPUs were (0-1) before the run; it counts when the engine itself was idle
    heat:             share of readings during the run in which heat or hardware held the clocks down
    """
    found = []
    if idle_utilization is not None and idle_utilization > IDLE_UTILIZATION and not state.busy_before:
        message = (
            f"the GPUs were {100 * idle_utilization:.0f} % busy before the first request: something else uses them"
        )
        found.append(Doubt("other-gpu-load", message, spoils=True))
    if heat is not None and heat > _HEAT_SHARE:
        message = f"heat or hardware held the GPUs' clocks down {100 * heat:.0f} % of the time: a cool one is faster"
        found.append(Doubt("throttled", message, spoils=True))
    return found


def same_counts(before: Mapping[str, object] | None, now: Mapping[str, object] | None) -> list[Doubt]:
    """Whether two runs drafted exactly alike: at temperature 0 a repetition is then the same sample once more.

    before, now: counts of a run in the history.
    """
    if not now or not before or any(before.get(name) != now.get(name) for name in ("rounds", "accepted", "drafted")):
        return []
    message = (
        "its rounds and accepted tokens are exactly those of the run before: for acceptance the two are one sample"
    )
    return [Doubt("same-counts", message, spoils=False)]


def _busy_before(state: EngineState) -> Doubt | None:
    if not state.busy_before:
        return None
    many = f"{state.busy_before} request{'s' if state.busy_before > 1 else ''}"
    return Doubt("other-traffic", f"{many} of others were at work before the first was sent", spoils=True)


def _other_traffic(result: LoadResult, generation_tokens: int | None) -> Doubt | None:
    if generation_tokens is None:
        return None
    own = sum(sample.completion.completion_tokens or 0 for sample in result.samples)
    # A failed request's tokens are on the server's counter only: it may have generated all that it was asked for.
    at_most = own + result.max_tokens * sum(result.failed.values())
    slack = max(_OTHER_TRAFFIC_TOKENS, _OTHER_TRAFFIC_SHARE * own)
    if generation_tokens > at_most + slack:
        message = f"the server generated {generation_tokens} tokens meanwhile, {own} for this run: others use it too"
    elif generation_tokens < own - slack:
        message = f"the server counts {generation_tokens} tokens, the answers hold {own}: a restart, or other counters"
    else:
        return None
    return Doubt("other-traffic", message, spoils=True)


def _late(result: LoadResult) -> Doubt | None:
    if result.arrivals is None or not result.samples:
        return None
    late_s = float(np.percentile([sample.late_s for sample in result.samples], 99))
    if late_s <= _LATE_S:
        return None
    waits = [sample.completion.ttft_s for sample in result.samples if sample.completion.ttft_s is not None]
    message = (
        f"requests left up to {1e3 * late_s:.0f} ms after they were due: the machine that makes the load is the limit "
        "(that wait is in TTFT and end-to-end latency)"
    )
    return Doubt("late", message, spoils=bool(waits) and late_s > _LATE_SHARE * float(np.median(waits)))


def _overloaded(result: LoadResult) -> Doubt | None:
    """Whether requests pile up: a queue that grows as long as the run lasts has no latency of its own.

    In a steady state the number in flight varies like a Poisson count, so growth must exceed two of its deviations.
    """
    if result.arrivals is None or len(result.samples) < _LEAST_ARRIVALS:
        return None
    last_s = max(sample.started_s for sample in result.samples)
    middle, end = (_in_flight(result.samples, share * last_s) for share in (0.5, 1.0))
    if end < _LEAST_PILE or end <= 1.3 * middle + 2 * math.sqrt(middle + 1):
        return None
    message = (
        f"{result.arrivals.rate:g} requests/s are more than the server answers: {middle} were in flight after half of "
        f"them, {end} at the end; latencies say how long the run was"
    )
    return Doubt("overloaded", message, spoils=True)


def _in_flight(samples: Sequence[Sample], at_s: float) -> int:
    return sum(sample.started_s <= at_s < sample.started_s + sample.completion.latency_s for sample in samples)


def _queued(result: LoadResult, state: EngineState) -> Doubt | None:
    if state.waiting is None or not state.waiting.peak:
        return None
    of = f" of {result.concurrency}" if result.concurrency else ""
    message = (
        f"up to {state.waiting.peak:.0f}{of} requests waited for a place in the engine's batch "
        "(--max-num-seqs, or its KV cache): that wait is in TTFT"
    )
    return Doubt("queued", message, spoils=False)


def _preempted(state: EngineState) -> Doubt | None:
    if not state.preemptions:
        return None
    full = f" (at most {100 * state.kv_usage.peak:.0f} % full)" if state.kv_usage else ""
    message = f"{state.preemptions} times a request lost its place in the KV cache{full} and was computed again"
    return Doubt("preempted", message, spoils=False)


def _prefix_cache(hit_rate: float | None) -> Doubt | None:
    if hit_rate is None or hit_rate <= _PREFIX_HIT_SHARE:
        return None
    message = (
        f"{100 * hit_rate:.0f} % of the prompts' tokens were in the prefix cache: TTFT is better than for new prompts"
    )
    return Doubt("prefix-cache", message, spoils=False)
