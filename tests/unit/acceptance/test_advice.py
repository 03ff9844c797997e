"""What a run says about the number of speculative tokens, and when it says nothing."""

import pytest
from hypothesis import given

from roles.acceptance.advice import advise
from roles.acceptance.window import Window
from tests.unit.acceptance.cases import measured, of_rates
from tests.unit.acceptance.test_window import whole_windows

FIELD_REPORT = of_rates(1000, 15, 0.72, 0.48, 0.30, 0.18, 0.06, 0.02, 0.01)


def test_seldom_accepted_positions_are_named_and_left_out() -> None:
    advice = advise(FIELD_REPORT)
    assert advice is not None
    assert (advice.tokens, advice.text) == (5, "positions 5-14 are accepted in under 5 % of rounds: try 5 tokens")


def test_one_seldom_position_is_one_position() -> None:
    advice = advise(of_rates(1000, 2, 0.6, 0.01))
    assert advice is not None
    assert advice.text == "position 1 is accepted in under 5 % of rounds: try 1 token"


def test_a_last_position_that_is_still_good_asks_for_more() -> None:
    advice = advise(of_rates(1000, 2, 0.9, 0.8))
    assert advice is not None
    assert advice.tokens == 4
    assert "80 %" in advice.text


def test_a_real_run_with_fifteen_tokens_is_advised_to_use_fewer() -> None:
    advice = advise(measured("right-k15-c8"))
    assert advice is not None
    assert advice.tokens == 7


@pytest.mark.parametrize(
    "window",
    [
        of_rates(199, 15, 0.72, 0.48, 0.30, 0.18, 0.06),
        of_rates(1000, 5, 0.72, 0.48, 0.30, 0.18, 0.10),
        of_rates(1000, 15, 0.165, 0.015),
        Window(1000, 1740, 14_000, FIELD_REPORT.per_position, 15),
        Window(1000, 1740, 15_000, (), 15),
        Window(),
    ],
    ids=["too few rounds", "nothing to gain", "broken drafter", "short drafts", "no positions", "no data"],
)
def test_nothing_is_said_when_there_is_nothing_to_say(window: Window) -> None:
    assert advise(window) is None


@given(whole_windows())
def test_advice_is_another_k_and_at_least_one_token(window: Window) -> None:
    """Property: never the k that was run, never 0."""
    advice = advise(window)
    assert advice is None or (advice.tokens >= 1 and advice.tokens != window.k)
