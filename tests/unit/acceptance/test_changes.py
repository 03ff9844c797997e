"""Steps and slides in a history of windows are found, told apart, and not seen where there are none."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.acceptance.changes import CERTAIN, changes
from roles.acceptance.series import Seen
from roles.acceptance.window import Window
from tests.unit.acceptance.simulate import FIELD_REPORT_K5, RIGHT_K15, chances, window_of


def history(
    lengths: Sequence[float],
    *,
    seed: int = 1,
    rounds: int = 400,
    rates: Sequence[float] = FIELD_REPORT_K5,
    differ: float = 0.04,
    lasting: int = 1,
) -> list[Seen]:
    """Windows whose expected acceptance lengths these are; requests make them differ by `differ` more.

    lasting: windows that a request lasts for
    """
    rng = np.random.default_rng(seed)
    base = np.array(rates)
    ease = np.repeat(rng.normal(1, differ, -(-len(lengths) // lasting)), lasting)[: len(lengths)]
    curves = np.minimum(base * ((np.array(lengths) - 1) / base.sum() * ease)[:, None], 0.99)
    return [Seen(window_of(drawn), i + 1) for i, drawn in enumerate(rng.multinomial(rounds, chances(curves)))]


def test_a_slow_slide_over_hours_is_drift() -> None:
    """EAGLE on 0.17.1: 3.07 to 2.80 over hours, healed by a restart."""
    (change,) = changes(history(np.linspace(3.07, 2.80, 120).tolist()))
    assert change.kind == "drift"
    assert change.before == pytest.approx(3.07, abs=0.06)
    assert change.after == pytest.approx(2.80, abs=0.06)


def test_few_printed_points_of_a_slide_are_drift() -> None:
    lengths = [3.07, 3.05, 3.04, 3.01, 2.99, 2.97, 2.93, 2.90, 2.88, 2.86, 2.83, 2.80]
    (change,) = changes(history(lengths, rounds=3000, differ=0.002))
    assert change.kind == "drift"


def test_an_upgrade_is_a_step_at_its_moment() -> None:
    """0.27.1 to 0.28.0: 3.19 to 2.66 at k=15."""
    (change,) = changes(history([3.19] * 40 + [2.66] * 20, rates=RIGHT_K15))
    assert change.kind == "step"
    assert (change.first.number, change.last.number) == (40, 41)
    assert change.relative == pytest.approx(-0.166, abs=0.03)


def test_a_step_down_and_up_again_is_two_steps() -> None:
    found = changes(history([3.0] * 30 + [1.1] * 12 + [3.0] * 30))
    assert [(change.kind, change.after < change.before) for change in found] == [("step", True), ("step", False)]


@pytest.mark.parametrize("rounds", [60, 400, 4000])
def test_nothing_is_seen_where_nothing_changed(rounds: int) -> None:
    """Sixty histories of a drafter that stays: at most one raises an alarm."""
    alarms = sum(bool(changes(history([2.9] * 60, seed=seed, rounds=rounds))) for seed in range(100))
    assert alarms <= 1


@pytest.mark.parametrize(("windows", "lasting"), [(60, 1), (20, 2), (60, 2), (60, 3), (200, 3)])
def test_false_alarms_are_within_a_point_of_nominal_under_clustering(windows: int, lasting: int) -> None:
    """Requests that differ by 12 % in what they accept, and last for several windows: neighbours are alike."""
    runs = 200
    alarms = sum(
        bool(changes(history([2.9] * windows, seed=seed, rounds=195, differ=0.12, lasting=lasting)))
        for seed in range(runs)
    )
    assert alarms <= (CERTAIN + 0.01) * runs


def test_a_step_of_seven_percent_is_seen_in_a_quarter_of_an_hour() -> None:
    """Fifty windows of ten seconds before and after it, 195 rounds each."""
    runs = [changes(history([3.0] * 50 + [2.79] * 50, seed=seed, rounds=195)) for seed in range(60)]
    assert sum(bool(found) for found in runs) >= 57
    steps = [found[0] for found in runs if [change.kind for change in found] == ["step"]]
    assert len(steps) >= 45
    assert np.median([change.last.number for change in steps]) == pytest.approx(51, abs=2)


def test_a_server_that_fails_and_is_mended_twice_has_four_steps() -> None:
    found = changes(history([3.0] * 12 + [1.1] * 9 + [3.0] * 12 + [1.1] * 9 + [3.0] * 12))
    assert [(change.kind, change.last.number) for change in found] == [("step", number) for number in (13, 22, 34, 43)]


def test_traffic_that_changes_by_the_hour_is_seldom_taken_for_a_step() -> None:
    """Windows that resemble their neighbours (the same user asks on) make a change harder to believe."""
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        ease = np.zeros(80)
        for i in range(1, 80):
            ease[i] = 0.4 * ease[i - 1] + rng.normal(0, 0.02)
        alarms += bool(changes(history((2.9 * (1 + ease)).tolist(), seed=seed, differ=0.0)))
    assert alarms <= 3


def test_most_upgrades_that_cost_a_tenth_are_found() -> None:
    found = sum(
        [change.kind for change in changes(history([3.0] * 30 + [2.7] * 30, seed=seed))] == ["step"]
        for seed in range(30)
    )
    assert found >= 27


def test_a_few_windows_say_nothing() -> None:
    assert changes(history([3.0] * 3 + [1.0] * 3)) == ()


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.lists(st.integers(0, 50), min_size=2, max_size=2)).map(
            lambda drawn: (drawn[0], sorted((min(count, drawn[0]) for count in drawn[1]), reverse=True))
        ),
        max_size=40,
    )
)
def test_any_history_is_read_without_an_exception(drawn: list[tuple[int, list[int]]]) -> None:
    """Property: any windows, also empty ones and such without any variance."""
    seen = [Seen(Window(r, sum(c), 2 * r, tuple(c), 2), i) for i, (r, c) in enumerate(drawn)]
    for change in changes(seen):
        assert change.p_value < CERTAIN
