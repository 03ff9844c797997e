"""A few rounds on a candidate: never more than allowed, fewer where it has collapsed."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roles.acceptance.collapse import healthy_acceptance
from roles.acceptance.few_rounds import MOST_ROUNDS, measure_few
from roles.acceptance.session import Session
from roles.acceptance.window import PromptWindow, Window, pool
from tests.unit.acceptance.served import Asked, Engine
from tests.unit.acceptance.simulate import ALL_WRONG_C1, RIGHT_K15

PROMPTS = [Asked(f"p{i}") for i in range(50)]
HEALTHY = healthy_acceptance(1.5, None)


def few(
    rates: Sequence[float], *, healthy: float | None = HEALTHY, most: int = MOST_ROUNDS
) -> tuple[PromptWindow, ...]:
    engine = Engine(rates)
    session = Session(engine.send, engine.scrape, lambda: 0.0, lambda _: None)
    return measure_few(session, PROMPTS, healthy=healthy, most_rounds=most)


def test_good_drafter_gets_nearly_all_rounds() -> None:
    windows = few(RIGHT_K15)
    assert 45 <= pool(one.window for one in windows).rounds <= MOST_ROUNDS
    assert len(windows) >= 5


def test_collapse_ends_it_early() -> None:
    assert pool(one.window for one in few(ALL_WRONG_C1)).rounds < 45
    assert pool(one.window for one in few(ALL_WRONG_C1, healthy=None)).rounds > 45


@settings(max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=15), st.integers(10, 120))
def test_no_drafter_costs_more_rounds_than_allowed(rates: list[float], most: int) -> None:
    """Property: whatever is accepted, the bound holds."""
    assert pool(one.window for one in few(sorted(rates, reverse=True), most=most)).rounds <= most


def test_progress_is_told_after_each_prompt() -> None:
    told: list[Window] = []
    engine = Engine(RIGHT_K15)
    session = Session(engine.send, engine.scrape, lambda: 0.0, lambda _: None)
    windows = measure_few(session, PROMPTS, healthy=HEALTHY, on_progress=told.append)
    assert len(told) == len(windows)
    assert told[-1].rounds == sum(one.window.rounds for one in windows)


@pytest.mark.parametrize("text", ["", "vllm:generation_tokens_total 5\n"])
def test_server_that_counts_no_rounds_is_given_up(text: str) -> None:
    engine = Engine(RIGHT_K15)
    session = Session(engine.send, lambda: text, lambda: 0.0, lambda _: None)
    assert len(measure_few(session, PROMPTS, healthy=HEALTHY)) == 3
