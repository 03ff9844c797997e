"""Preemptions, queueing and cache hits between two readings of /metrics."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.acceptance.engine_state import EngineState, engine_state

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
    }
    return "".join(f'{names[name]}{{engine="0",model_name="m"}} {value}\n' for name, value in values.items())


def test_what_grew_between_the_readings_counts() -> None:
    before = _metrics(preemptions=2, queried=1000, hits=500, queued_s=1.0, queued=10)
    after = _metrics(preemptions=5, queried=2000, hits=600, queued_s=3.0, queued=20, kv=0.25, waiting=3)
    found = engine_state(before, after)
    assert found == EngineState(preemptions=3, prefix_hit_rate=0.1, queue_s=0.2, waiting=3, kv_usage=0.25)
    assert str(found) == (
        "3 preemptions, queued 200 ms, prefix cache hits 10 %, KV cache 25 % full at the end, 3 still waiting"
    )


def test_engines_are_added_and_the_fullest_cache_is_told() -> None:
    two = "\n".join(
        f'vllm:kv_cache_usage_perc{{engine="{i}"}} {0.2 * i}\nvllm:num_requests_waiting{{engine="{i}"}} 2'
        for i in (1, 2)
    )
    found = engine_state("", two)
    assert (found.kv_usage, found.waiting) == (0.4, 4)


def test_after_a_restart_all_of_the_second_reading_counts() -> None:
    assert engine_state(_metrics(preemptions=9), _metrics(preemptions=1)).preemptions == 1


def test_without_a_first_reading_nothing_is_said_to_have_grown() -> None:
    assert engine_state(None, _metrics(preemptions=9, kv=0.5)).as_json() == {"kv_usage": 0.5}
    assert engine_state(None, None) == EngineState()


def test_a_real_engines_answer_is_read() -> None:
    case = json.loads((CASES / "right-k5.json").read_text())
    found = engine_state(case["before"], case["after"])
    assert found.preemptions == 0
    assert found.kv_usage == pytest.approx(0, abs=1)


@given(st.text(), st.text())
def test_any_text_is_a_state(before: str, after: str) -> None:
    """Whatever a server answers, nothing raises."""
    engine_state(before, after)
