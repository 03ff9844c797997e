"""Intervals hold what they say, and comparisons see what differs and nothing else; calibrated by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.acceptance.power import prompts_needed, rounds_needed
from roles.acceptance.statistics import (
    acceptance_length,
    binomial_bounds,
    length_from_prompts,
    length_from_rounds,
    paired,
    round_variance,
)
from roles.acceptance.window import PromptWindow, Window
from tests.unit.acceptance.cases import of_rates, prompt
from tests.unit.acceptance.simulate import FIELD_REPORT_K5, RIGHT_K5, chances, prompts_that_differ, window_of, windows

FIELD_REPORT = Window(195, 418, 975, (156, 104, 71, 49, 38), 5)


def test_variance_of_a_round_counts_that_tokens_nest() -> None:
    curve = of_rates(10_000, 5, *FIELD_REPORT_K5)
    assert round_variance(curve) == pytest.approx(2.963, abs=0.02)
    binomial = 5 * 0.43 * 0.57
    assert (round_variance(curve) or 0) / binomial == pytest.approx(2.42, abs=0.03)


def test_variance_is_that_of_drawn_rounds() -> None:
    rng = np.random.default_rng(3)
    histogram = rng.multinomial(20_000, chances(np.array(RIGHT_K5)))
    accepted = np.repeat(np.arange(6), histogram)
    assert round_variance(window_of(histogram)) == pytest.approx(accepted.var(), rel=1e-9)


def test_without_positions_the_variance_is_the_largest_possible() -> None:
    known, unknown = FIELD_REPORT, Window(195, 418, 975, (), 5)
    assert (round_variance(unknown) or 0) > (round_variance(known) or 0)
    assert round_variance(Window(195, 418, 975)) is None


def test_one_log_line_says_little() -> None:
    interval = length_from_rounds(FIELD_REPORT, 0.95)
    assert interval is not None
    assert interval.estimate == pytest.approx(3.14, abs=0.005)
    assert interval.high - interval.estimate == pytest.approx(0.24, abs=0.02)


def test_nothing_accepted_still_has_a_width() -> None:
    interval = length_from_rounds(of_rates(20, 15), 0.95)
    assert interval is not None
    assert interval.low == 1.0
    assert interval.high == pytest.approx(1 + binomial_bounds(0, 20, 0.95)[1])


def test_everything_accepted_still_has_a_width_and_stays_possible() -> None:
    interval = length_from_rounds(of_rates(20, 3, 1.0, 1.0, 1.0), 0.95)
    assert interval is not None
    assert interval.low < 4.0
    assert interval.high == 4.0


def test_binomial_bounds_are_the_exact_ones() -> None:
    """0 of 20 at 95 %: 1 - 0.025 ** (1 / 20)."""
    assert binomial_bounds(0, 20, 0.95) == pytest.approx((0.0, 1 - 0.025 ** (1 / 20)))
    low, high = binomial_bounds(7, 20, 0.95)
    assert (low, high) == pytest.approx((0.1539, 0.5922), abs=1e-4)


def test_prompts_that_differ_widen_the_interval() -> None:
    even = [prompt(f"p{i}", of_rates(100, 2, 0.5, 0.3)) for i in range(10)]
    uneven = [prompt(f"p{i}", of_rates(100, 2, 0.5 + d, 0.3 + d)) for i, d in enumerate([-0.2, 0.2] * 5)]
    narrow, wide = acceptance_length(even, 0.95), length_from_prompts(uneven, 0.95)
    assert narrow is not None
    assert wide is not None
    assert wide.estimate == pytest.approx(narrow.estimate)
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)


def test_few_prompts_fall_back_to_rounds() -> None:
    few = [prompt(f"p{i}", FIELD_REPORT) for i in range(4)]
    assert length_from_prompts(few, 0.95) is None
    assert acceptance_length(few, 0.95) is not None
    assert acceptance_length([], 0.95) is None


def test_comparison_pairs_by_name_and_not_by_order() -> None:
    old = [prompt(f"p{i}", of_rates(50, 2, 0.3 + 0.05 * i, 0.1)) for i in range(10)]
    change = paired(old[::-1], old, 0.95)
    assert change is not None
    assert (change.relative, change.low, change.high, change.p_value, change.prompts) == (0, 0, 0, 1.0, 10)


def test_comparison_leaves_out_prompts_of_one_side() -> None:
    old = [prompt(f"p{i}", of_rates(50, 2, 0.4, 0.1)) for i in range(8)]
    new = [prompt(f"p{i}", of_rates(50, 2, 0.4, 0.1)) for i in range(3, 11)]
    change = paired(new, old, 0.95)
    assert change is not None
    assert change.prompts == 5
    assert paired(new[1:], old, 0.95) is None


def test_the_same_drop_in_every_prompt_is_certain() -> None:
    old = [prompt(f"p{i}", of_rates(100, 2, 0.5, 0.3)) for i in range(10)]
    new = [prompt(f"p{i}", of_rates(100, 2, 0.4, 0.22)) for i in range(10)]
    change = paired(new, old, 0.95)
    assert change is not None
    assert change.relative == pytest.approx(1.62 / 1.8 - 1)
    assert change.p_value == 0.0


def _comparisons(factor: float, runs: int, prompts: int, rounds: int, seed: int) -> list[float]:
    """p values of paired comparisons: prompts differ by 12 % (coefficient of variation), the candidate by `factor`."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        ease = prompts_that_differ(rng, prompts)
        before = windows(rng, RIGHT_K5, ease, rounds)
        after = windows(rng, RIGHT_K5, ease, rounds, factor)
        change = paired(after, before, 0.95)
        assert change is not None
        found.append(change.p_value if change.relative < 0 or factor == 1 else 1.0)
    return found


def test_false_alarms_are_within_a_point_of_nominal_under_clustering() -> None:
    p_values = np.array(_comparisons(1.0, runs=2000, prompts=20, rounds=50, seed=11))
    assert (p_values < 0.05).mean() == pytest.approx(0.05, abs=0.01)


def test_a_drop_of_seven_percent_is_seen_with_fifty_prompts_of_fifty_rounds() -> None:
    """Length 2.519: 7 % of it are 0.176 of 1.519 accepted tokens, so every position keeps 0.884 of its rate."""
    p_values = np.array(_comparisons(1 - 0.07 * 2.519 / 1.519, runs=300, prompts=50, rounds=50, seed=12))
    assert (p_values < 0.05).mean() >= 0.9


@pytest.mark.parametrize("prompts", [5, 20])
def test_interval_over_prompts_holds_the_truth_as_often_as_it_says(prompts: int) -> None:
    rng = np.random.default_rng(13)
    held = 0
    for _ in range(1000):
        ease = prompts_that_differ(rng, prompts)
        interval = length_from_prompts(windows(rng, RIGHT_K5, ease, 40), 0.95)
        assert interval is not None
        held += interval.low <= 1 + sum(RIGHT_K5) <= interval.high
    assert held / 1000 == pytest.approx(0.95, abs=0.02)


def test_rounds_needed_are_those_of_the_field_report() -> None:
    """0.43 -> 0.40 at k=5 is 3.15 -> 3.00: 2,768 rounds an arm, or half of them against a known length."""
    window = of_rates(100_000, 5, *FIELD_REPORT_K5)
    drop = 0.15 / (window.acceptance_length or 0)
    assert rounds_needed(window, drop) == pytest.approx(2768, rel=0.01)
    assert rounds_needed(window, drop, arms=1) == pytest.approx(2768 / 2, rel=0.01)
    assert rounds_needed(Window(), drop) is None


def test_prompts_needed_give_the_power_that_was_asked_for() -> None:
    rng = np.random.default_rng(14)
    ease = prompts_that_differ(rng, 400)
    change = paired(windows(rng, RIGHT_K5, ease, 50), windows(rng, RIGHT_K5, ease, 50), 0.95)
    assert change is not None
    need = prompts_needed(change, 0.07)
    assert 25 <= need <= 60
    p_values = np.array(_comparisons(1 - 0.07 * 2.519 / 1.519, runs=400, prompts=need, rounds=50, seed=15))
    assert (p_values < 0.05).mean() == pytest.approx(0.9, abs=0.06)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1, max_size=12))
def test_no_counts_make_statistics_raise(drawn: list[tuple[int, int]]) -> None:
    """Property: any windows, also empty or contradicting ones, give intervals in order or none."""
    given_windows = [PromptWindow(f"p{i}", Window(r, a, r, (a,), 1)) for i, (r, a) in enumerate(drawn) if a <= r]
    interval = acceptance_length(given_windows, 0.95)
    assert interval is None or 1 <= interval.low <= interval.estimate <= interval.high <= 2
    change = paired(given_windows, given_windows[::-1], 0.95)
    assert change is None or change.low <= change.relative <= change.high
