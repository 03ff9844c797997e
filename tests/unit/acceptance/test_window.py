"""Counts add up or are refused, and pools are sums."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.acceptance.window import PromptWindow, Window, faults, first_positions, pool, with_doubts
from tests.unit.acceptance.cases import measured, of_rates

FIELD_REPORT = Window(195, 418, 975, (156, 104, 71, 49, 38), 5)


@st.composite
def whole_windows(draw: st.DrawFn, k: int | None = None) -> Window:
    """Windows of fixed k whose identities hold."""
    k = draw(st.integers(1, 16)) if k is None else k
    rounds = draw(st.integers(0, 5000))
    counts = []
    most = rounds
    for _ in range(k):
        most = draw(st.integers(0, most))
        counts.append(most)
    return Window(rounds, sum(counts), k * rounds, tuple(counts), k)


def test_length_counts_the_bonus_token_and_the_rate_does_not() -> None:
    assert FIELD_REPORT.acceptance_length == pytest.approx(3.1436, abs=1e-4)
    assert FIELD_REPORT.acceptance_rate == pytest.approx(0.4287, abs=1e-4)
    assert FIELD_REPORT.per_position_rates[0] == pytest.approx(0.8)


def test_without_rounds_there_is_no_length_rather_than_one() -> None:
    empty = Window()
    assert (empty.acceptance_length, empty.acceptance_rate, empty.per_position_rates) == (None, None, ())


@pytest.mark.parametrize(
    "name", ["right-k15-c1", "right-k15-c8", "all-wrong-c8", "mask-used-c1", "right-k5-c1-against-k15"]
)
def test_a_real_window_has_no_faults(name: str) -> None:
    assert faults(measured(name)) == ()


@pytest.mark.parametrize(
    ("window", "said"),
    [
        (replace(FIELD_REPORT, accepted=417), "add up"),
        (replace(FIELD_REPORT, accepted=1000, per_position=()), "more than the 975 drafted"),
        (replace(FIELD_REPORT, drafted=976), "more than k=5"),
        (replace(FIELD_REPORT, per_position=(104, 156, 71, 49, 38)), "later position"),
        (replace(FIELD_REPORT, per_position=(200, 104, 71, 43, 0)), "position 0"),
        (replace(FIELD_REPORT, per_position=(157, 104, 71, 49, 38, -1)), "negative"),
        (replace(FIELD_REPORT, rounds=0), "no round"),
    ],
)
def test_counts_that_contradict_themselves_are_named(window: Window, said: str) -> None:
    assert any(said in fault for fault in faults(window))


def test_drafts_shorter_than_k_are_a_doubt_and_no_fault() -> None:
    short = replace(FIELD_REPORT, drafted=960)
    assert faults(short) == ()
    assert "shorter than k=5" in with_doubts(short).doubts[0]
    assert with_doubts(FIELD_REPORT).doubts == ()


def test_pool_weighs_rounds_and_does_not_average_means() -> None:
    large, small = Window(25, 51, 125, (20, 13, 10, 7, 1), 5), Window(2, 0, 10, (0,) * 5, 5)
    assert pool([large, small]).acceptance_length == pytest.approx(1 + 51 / 27)


def test_unequal_k_is_pooled_over_the_shared_positions_and_said() -> None:
    long = of_rates(100, 15, 0.7, 0.5, 0.3, 0.2, 0.1, 0.1)
    short = of_rates(100, 3, 0.8, 0.6, 0.4)
    both = pool([long, short])
    assert (both.k, both.per_position, both.accepted, both.drafted) == (3, (150, 110, 70), 330, 600)
    assert "first 3 positions" in both.doubts[0]
    assert faults(both) == ()


def test_unequal_k_without_positions_is_left_out_and_said() -> None:
    both = pool([of_rates(100, 3, 0.8, 0.6, 0.4), Window(50, 60, 250, (), 5)])
    assert (both.rounds, both.accepted) == (100, 180)
    assert any("left out" in doubt for doubt in both.doubts)


def test_nothing_that_can_be_pooled_gives_no_length() -> None:
    assert pool([Window(10, 5, 30, (), 3), Window(10, 5, 50, (), 5)]).acceptance_length is None
    assert pool([]) == Window()


def test_pool_has_no_span_for_engines_that_ran_at_the_same_time() -> None:
    one, other = Window(10, 5, 30, k=3, span_s=10.0, engine="0"), Window(10, 5, 30, k=3, span_s=10.0, engine="1")
    assert pool([one, other]).span_s is None
    assert pool([one, replace(one, span_s=2.0)]).span_s == pytest.approx(12.0)


def test_pool_has_the_least_exact_source() -> None:
    assert pool([Window(1, source="request"), Window(1, source="log")]).source == "log"


def test_first_positions_need_counts_for_them() -> None:
    assert first_positions(FIELD_REPORT, 6) is None
    cut = first_positions(FIELD_REPORT, 2)
    assert cut is not None
    assert (cut.accepted, cut.drafted, cut.k) == (260, 390, 2)


@pytest.mark.parametrize(("generated", "mixed"), [(128, False), (130, False), (256, True), (100, True)])
def test_other_requests_show_in_the_generated_tokens(generated: int, mixed: bool) -> None:
    assert PromptWindow("a", Window(40, generated=generated), 128).mixed is mixed


def test_unknown_usage_is_not_taken_for_other_requests() -> None:
    assert not PromptWindow("a", Window(40, generated=500)).mixed


@given(st.lists(whole_windows(), max_size=6))
def test_pool_of_whole_windows_is_whole(windows: list[Window]) -> None:
    """Property: adding windows up, also of unequal k, never breaks an identity."""
    assert faults(pool(windows)) == ()


@given(st.lists(whole_windows(k=7), min_size=2, max_size=6))
def test_pool_does_not_depend_on_how_it_is_split(windows: list[Window]) -> None:
    """Property: pooling pools gives the same counts as pooling everything at once."""
    assert pool([pool(windows[:1]), pool(windows[1:])]) == pool(windows)
