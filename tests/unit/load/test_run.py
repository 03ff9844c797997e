"""Making load against a real server."""

import signal
from datetime import UTC, datetime

import pytest

from inventory.errors import UnreachableError
from roles.load.arrivals import Arrivals
from roles.load.endpoint import Endpoint
from roles.load.prompts import Prompt, PromptSet
from roles.load.result import Progress
from roles.load.run import run_load
from tests.unit.load.engine import MODEL, WORDS, Engine


def prompts(count: int) -> PromptSet:
    return PromptSet("test", [Prompt.user(f"prompt {number}", name=f"p{number}") for number in range(count)])


def asked(engine: Engine) -> list[str]:
    return [str(request["messages"][0]["content"]) for request in engine.requests]


def test_each_prompt_is_sent_once_and_the_samples_keep_their_order(engine: Engine, endpoint: Endpoint) -> None:
    before = datetime.now(UTC)
    result = run_load(endpoint, prompts(6), max_tokens=5, concurrency=3)
    assert sorted(asked(engine)) == [f"prompt {number}" for number in range(6)]
    assert [sample.prompt.id for sample in result.samples] == [f"p{number}" for number in range(6)]
    assert all(sample.completion.ok for sample in result.samples)
    assert result.unsent == 0
    assert before <= result.started_at <= datetime.now(UTC)
    assert result.wall_s >= max(sample.started_s + sample.completion.latency_s for sample in result.samples) - 1e-3


@pytest.mark.parametrize("concurrency", [1, 4])
def test_as_many_requests_as_asked_for_are_in_flight_and_never_more(
    engine: Engine, endpoint: Endpoint, concurrency: int
) -> None:
    """The server answers only when `concurrency` requests have come together: with fewer this would never end."""
    result = run_load(
        endpoint, prompts(8), max_tokens=5, concurrency=concurrency, extra_body={"together": concurrency}, deadline_s=60
    )
    assert engine.most_in_flight == concurrency
    assert not result.failed


def test_connections_are_open_before_the_first_counted_request(engine: Engine, endpoint: Endpoint) -> None:
    """Each request comes from a port that had asked for /health: none waits for a connection of its own."""
    result = run_load(endpoint, prompts(8), max_tokens=5, concurrency=4, extra_body={"together": 4}, deadline_s=60)
    assert len(engine.callers["POST"]) == 4
    assert engine.callers["POST"] <= engine.callers["GET"]
    assert not result.failed


def test_warm_up_comes_first_is_not_counted_and_shares_no_prompt(engine: Engine, endpoint: Endpoint) -> None:
    seen: list[Progress] = []
    result = run_load(endpoint, prompts(2), max_tokens=5, warmup=3, on_progress=seen.append)
    assert len(result.samples) == 2
    assert len(engine.requests) == 5
    assert not set(asked(engine)[:3]) & set(asked(engine)[3:])
    assert len(set(asked(engine)[:3])) == 3
    assert [(step.warming_up, step.done, step.total) for step in seen] == [
        (True, 1, 3),
        (True, 2, 3),
        (True, 3, 3),
        (False, 1, 2),
        (False, 2, 2),
    ]
    assert seen[-1].output_tokens == 2 * len(WORDS)


def test_counters_are_read_right_before_and_right_after_the_counted_span(engine: Engine, endpoint: Endpoint) -> None:
    result = run_load(
        endpoint, prompts(3), max_tokens=5, warmup=2, scrape=lambda: f"{len(engine.requests)} so far", settle_s=0
    )
    assert result.counters_before == "2 so far"
    assert result.counters_after == "5 so far"


def test_counters_that_cannot_be_read_are_none(endpoint: Endpoint) -> None:
    def scrape() -> str:
        raise UnreachableError("no metrics here")

    result = run_load(endpoint, prompts(1), max_tokens=5, scrape=scrape, settle_s=0)
    assert result.counters_before is None
    assert result.counters_after is None
    assert result.samples[0].completion.ok


def test_failures_are_results_by_kind(endpoint: Endpoint) -> None:
    seen: list[Progress] = []
    result = run_load(
        endpoint, prompts(2), max_tokens=5, extra_body={"scenario": "without-done"}, on_progress=seen.append
    )
    assert result.failed == {"cut": 2}
    assert seen[-1].failed == 2
    assert result.samples[0].completion.text.startswith("The quick")


def test_a_dead_server_fails_every_request_and_raises_nothing() -> None:
    result = run_load(Endpoint("http://127.0.0.1:9", MODEL), prompts(2), max_tokens=5, warmup=1)
    assert result.failed == {"unreachable": 2}


def test_when_the_time_is_up_what_is_in_flight_fails_and_the_rest_is_not_sent(
    engine: Engine, endpoint: Endpoint
) -> None:
    result = run_load(
        endpoint, prompts(5), max_tokens=5, concurrency=2, extra_body={"scenario": "stall"}, deadline_s=0.3
    )
    assert result.failed == {"deadline": 2}
    assert result.unsent == 3
    assert engine.abandoned.wait(10)


def test_ctrl_c_breaks_off_what_is_in_flight_and_reaches_the_caller(engine: Engine, endpoint: Endpoint) -> None:
    """Of three requests in flight one is answered; then Ctrl-C, as the terminal sends it."""

    def interrupt(_: Progress) -> None:
        signal.raise_signal(signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_load(
                endpoint,
                [Prompt.user("quick"), *prompts(4)],
                max_tokens=5,
                concurrency=3,
                extra_body={"scenario": "stall-but-quick"},
                on_progress=interrupt,
            )
    finally:
        signal.signal(signal.SIGINT, handler)
    assert engine.abandoned.wait(10)
    assert len(engine.requests) <= 4


def test_an_exception_of_the_callers_own_ends_the_run(engine: Engine, endpoint: Endpoint) -> None:
    def fail(_: Progress) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run_load(endpoint, prompts(3), max_tokens=5, on_progress=fail)
    assert len(engine.requests) == 1


def test_the_conditions_name_what_the_numbers_depend_on(endpoint: Endpoint) -> None:
    thinking = {"chat_template_kwargs": {"enable_thinking": False}}
    result = run_load(endpoint, prompts(1), max_tokens=5, temperature=0.5, seed=1, extra_body=thinking)
    assert result.conditions() == {
        "prompts": result.prompts,
        "max_tokens": 5,
        "load": "closed loop",
        "concurrency": 1,
        "temperature": 0.5,
        "thinking": False,
        "seed": 1,
        "extra_body": thinking,
    }
    assert result.prompts.startswith("test@")


def test_nothing_at_a_time_is_refused(endpoint: Endpoint) -> None:
    with pytest.raises(ValueError):
        run_load(endpoint, prompts(1), max_tokens=5, concurrency=0)


def test_the_engine_is_looked_at_during_the_run_only(engine: Engine, endpoint: Endpoint) -> None:
    """The server answers its one request when the engine is looked at meanwhile: without looking it would never end."""
    looks = iter(range(100))

    def scrape() -> str:
        seen = next(looks)
        if seen:
            engine.gather()
        return f"vllm:num_requests_running {seen}\n"

    result = run_load(
        endpoint,
        prompts(1),
        max_tokens=5,
        scrape=scrape,
        settle_s=0,
        look_every_s=0.01,
        extra_body={"together": 2},
        deadline_s=60,
    )
    assert result.counters_before == "vllm:num_requests_running 0\n"
    assert [one.running for one in result.gauges] == list(range(1, len(result.gauges) + 1))
    assert result.counters_after is not None
    assert int(result.counters_after.split()[1]) >= len(result.gauges)
    assert not result.failed


def test_an_open_loop_waits_for_no_answer(engine: Engine, endpoint: Endpoint) -> None:
    """The server answers only when all five requests have come together: a loop that waits would never end."""
    result = run_load(
        endpoint, prompts(5), max_tokens=5, arrivals=Arrivals(500), extra_body={"together": 5}, deadline_s=60
    )
    assert not result.failed
    assert engine.most_in_flight == 5
    assert result.concurrency is None
    starts = [sample.started_s for sample in result.samples]
    due = Arrivals(500).schedule(5)
    assert all(start >= time_s for start, time_s in zip(starts, due, strict=True))
    assert [sample.late_s - sample.completion.held_s for sample in result.samples] == pytest.approx(
        [start - time_s for start, time_s in zip(starts, due, strict=True)]
    )
    assert result.conditions()["load"] == "open loop"
    assert result.conditions()["rate"] == 500


def test_when_the_time_is_up_an_open_loop_has_unsent_requests_too(engine: Engine, endpoint: Endpoint) -> None:
    result = run_load(
        endpoint,
        prompts(5),
        max_tokens=5,
        arrivals=Arrivals(0.5, burstiness=float("inf")),
        extra_body={"scenario": "stall"},
        deadline_s=0.3,
    )
    assert result.failed == {"deadline": 1}
    assert result.unsent == 4
    assert engine.abandoned.wait(10)


def test_an_exception_of_the_callers_own_ends_an_open_loop_before_the_next_departure(
    engine: Engine, endpoint: Endpoint
) -> None:
    def fail(_: Progress) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run_load(endpoint, prompts(9), max_tokens=5, arrivals=Arrivals(2, float("inf")), on_progress=fail)
    assert len(engine.requests) <= 2
