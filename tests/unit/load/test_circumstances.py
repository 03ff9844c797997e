"""What was around a run: each thing that is wrong in a run that has it, nothing in a run that is well."""

import pytest

from roles.load.arrivals import Arrivals
from roles.load.circumstances import around, gpu_doubts, same_counts
from roles.load.completion import Completion
from roles.load.doubt import Doubt
from roles.load.engine_state import EngineState, Level
from roles.load.result import LoadResult
from tests.unit.load.samples import answer, load_result


def found(result: LoadResult, state: EngineState | None = None) -> dict[str, Doubt]:
    doubts = around(result, state or EngineState(), None)
    return {doubt.kind: doubt for doubt in doubts if doubt is not None}


def answers(latency_s: float = 2.0, count: int = 40) -> list[Completion]:
    return [answer(str(number), latency_s=latency_s) for number in range(count)]


def test_requests_of_others_before_the_first_spoil_the_run() -> None:
    doubt = found(load_result(answers()), EngineState(busy_before=2))["other-traffic"]
    assert doubt.message == "2 requests of others were at work before the first was sent"
    assert doubt.spoils


@pytest.mark.parametrize(("late_s", "spoils"), [(0.009, None), (0.02, False), (0.06, True)])
def test_a_schedule_that_was_not_kept_is_noted_and_spoils_when_it_weighs(late_s: float, spoils: bool | None) -> None:
    """The median wait for the first token is 200 ms: a quarter of it is 50 ms."""
    doubt = found(load_result(answers(), arrivals=Arrivals(1), late_s=late_s)).get("late")
    assert (doubt.spoils if doubt else None) is spoils


def test_a_closed_loop_is_never_late() -> None:
    assert "late" not in found(load_result(answers(), late_s=1))


def test_requests_that_pile_up_are_no_steady_state() -> None:
    """One a second, each takes as long as there were requests before it: a queue that never ends."""
    growing = [answer(str(number), latency_s=1.0 * number) for number in range(60)]
    doubt = found(load_result(growing, arrivals=Arrivals(1)))["overloaded"]
    assert doubt.spoils
    assert (
        "1 requests/s are more than the server answers: 15 were in flight after half of them, 30 at the end"
        in doubt.message
    )


@pytest.mark.parametrize("latency_s", [0.1, 2.0, 10.0, 19.0])
def test_requests_that_stay_as_many_are_a_steady_state(latency_s: float) -> None:
    assert "overloaded" not in found(load_result(answers(latency_s), arrivals=Arrivals(1)))


def test_what_the_engine_could_not_take_at_once_is_noted() -> None:
    state = EngineState(waiting=Level(1.5, 7), preemptions=3, kv_usage=Level(0.6, 0.99))
    doubts = found(load_result(answers(), concurrency=16), state)
    assert doubts["queued"].message.startswith("up to 7 of 16 requests waited")
    assert doubts["preempted"].message == (
        "3 times a request lost its place in the KV cache (at most 99 % full) and was computed again"
    )
    assert not any(doubt.spoils for doubt in doubts.values())


def test_a_gpu_that_works_for_nobody_we_know_spoils_the_run() -> None:
    (doubt,) = gpu_doubts(0.4, 0.0, EngineState(busy_before=0))
    assert doubt.kind == "other-gpu-load"
    assert "40 % busy before the first request" in doubt.message
    assert gpu_doubts(0.4, None, EngineState(busy_before=1)) == []  # the engine itself was at work
    assert gpu_doubts(0.02, 0.0, EngineState()) == []
    assert gpu_doubts(None, None, EngineState()) == []


def test_heat_spoils_the_run() -> None:
    (doubt,) = gpu_doubts(0.0, 0.5, EngineState())
    assert (doubt.kind, doubt.spoils) == ("throttled", True)


def test_a_repetition_with_the_very_same_counts_is_no_second_sample() -> None:
    """A field report compared two sets of repetitions whose counters were identical to the byte."""
    counts = {"rounds": 68, "accepted": 132, "drafted": 198, "k": 3}
    (doubt,) = same_counts(counts, {**counts, "per_position": [60, 42, 30]})
    assert not doubt.spoils
    assert "one sample" in doubt.message
    assert same_counts(counts, {**counts, "accepted": 131}) == []
    assert same_counts(None, counts) == same_counts(counts, None) == []
