"""Preemptions, queueing and cache hits between two readings of /metrics."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from roles.load.engine_state import EngineState, Gauges, Level, engine_state, gauges, while_busy

CASES = Path(__file__).parents[2] / "cases/acceptance/counters"


def _metrics(**values: float) -> str:
    names = {
        "preemptions": "vllm:num_preemptions_total",
        "queried": "vllm:prefix_cache_queries_total",
        "hits": "vllm:prefix_cache_hits_total",
        "queued_s": "vllm:request_queue_time_seconds_sum",
        "queued": "vllm:request_queue_time_seconds_count",
        "kv": "vllm:kv_cache_usage_perc",
        "waiting": "vllm:num_requests_waiting",
        "running": "vllm:num_requests_running",
    }
    return "".join(f'{names[name]}{{engine="0",model_name="m"}} {value}\n' for name, value in values.items())


def test_what_grew_between_the_readings_counts() -> None:
    before = _metrics(preemptions=2, queried=1000, hits=500, queued_s=1.0, queued=10)
    after = _metrics(preemptions=5, queried=2000, hits=600, queued_s=3.0, queued=20, kv=0.25, waiting=3)
    found = engine_state(before, after)
    assert found == EngineState(preemptions=3, prefix_hit_rate=0.1, queue_s=0.2)
    assert str(found) == "3 preemptions, queued 200 ms, prefix cache hits 10 %"


def test_levels_are_of_the_readings_in_between() -> None:
    seen = [gauges(_metrics(running=running, waiting=0, kv=kv)) for running, kv in ((4, 0.2), (8, 0.6), (6, 0.4))]
    found = engine_state(_metrics(running=1, waiting=2), _metrics(running=0, waiting=0, kv=0.1), seen)
    assert found.running == Level(6, 8)
    assert found.waiting == Level(0, 0)
    assert found.kv_usage is not None
    assert found.kv_usage.peak == 0.6
    assert found.readings == 3
    assert found.busy_before == 3
    assert str(found) == "6.0 running (at most 8), KV cache 40 % full (at most 60 %)"


def test_what_a_tool_takes_to_start_and_to_end_is_no_load() -> None:
    idle, busy, waits = Gauges(0, 0, 0.0), Gauges(2, 0, 0.1), Gauges(0, 1, 0.1)
    assert while_busy([idle, Gauges(), busy, idle, waits, idle]) == (busy, idle, waits)
    assert while_busy([idle, idle]) == while_busy([]) == ()


def test_readings_that_failed_are_no_levels() -> None:
    assert gauges(None) == Gauges()
    found = engine_state("", _metrics(running=0), [gauges(None), gauges(_metrics(running=2))])
    assert found.running == Level(2, 2)


def test_engines_are_added_and_the_fullest_cache_is_told() -> None:
    two = "\n".join(
        f'vllm:kv_cache_usage_perc{{engine="{i}"}} {0.2 * i}\nvllm:num_requests_waiting{{engine="{i}"}} 2'
        for i in (1, 2)
    )
    found = engine_state("", two, [gauges(two)])
    assert (found.kv_usage, found.waiting) == (Level(0.4, 0.4), Level(4, 4))


def test_after_a_restart_all_of_the_second_reading_counts() -> None:
    assert engine_state(_metrics(preemptions=9), _metrics(preemptions=1)).preemptions == 1


def test_without_a_first_reading_nothing_is_said_to_have_grown() -> None:
    assert engine_state(None, _metrics(preemptions=9)).preemptions is None
    assert engine_state(None, None) == EngineState()


def test_a_real_engines_answer_is_read() -> None:
    case = json.loads((CASES / "right-k5.json").read_text())
    found = engine_state(case["before"], case["after"], [gauges(case["after"])])
    assert found.preemptions == 0
    assert found.kv_usage is not None
    assert 0 <= found.kv_usage.peak <= 1


@given(st.text(), st.text())
def test_any_text_is_a_state(before: str, after: str) -> None:
    """Whatever a server answers, nothing raises."""
    engine_state(before, after)
