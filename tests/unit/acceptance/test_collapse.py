"""A broken drafter is recognised within a few dozen rounds, a good one is not accused; calibrated by simulation."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from roles.acceptance.collapse import FALSE_ALARMS, EarlyLook, healthy_acceptance, look
from roles.acceptance.window import Window
from tests.unit.acceptance.cases import measured, of_rates
from tests.unit.acceptance.simulate import (
    ALL_WRONG_C1,
    ALL_WRONG_C8,
    FIELD_REPORT_K5,
    RIGHT_K5,
    RIGHT_K15,
    chances,
    window_of,
)

FLOOR = 1.5
FROM_FLOOR = healthy_acceptance(FLOOR, None)


def decided_after(
    rates: Sequence[float], healthy: float | None, state: str, most: int, runs: int, every: int = 8
) -> NDArray[np.int64]:
    """Rounds until the look is in `state`, asked after every 8 rounds as the gate does; most + 1 when it never is."""
    drawn = np.random.default_rng(21).multinomial(every, chances(np.array(rates)), size=(runs, most // every))
    after = []
    for so_far in drawn.cumsum(axis=1):
        windows = (window_of(histogram) for histogram in so_far)
        after.append(next((w.rounds for w in windows if look(w, healthy).state == state), most + 1))
    return np.array(after)


@pytest.mark.parametrize("rates", [ALL_WRONG_C1, ALL_WRONG_C8], ids=["one request", "eight requests"])
@pytest.mark.parametrize("reference", ["floor", "baseline"])
def test_all_wrong_is_called_in_fewer_than_sixty_rounds(rates: Sequence[float], reference: str) -> None:
    healthy = FROM_FLOOR if reference == "floor" else healthy_acceptance(FLOOR, measured("right-k15-c1"))
    after = decided_after(rates, healthy, "collapsed", most=56, runs=2000)
    assert (after <= 56).mean() >= 0.99


@pytest.mark.parametrize(
    "rates", [RIGHT_K15, RIGHT_K5, FIELD_REPORT_K5, (0.8,)], ids=["k15", "k5", "field report", "mtp k1"]
)
@pytest.mark.parametrize("reference", ["floor", "own baseline"])
def test_a_healthy_drafter_is_hardly_ever_accused(rates: Sequence[float], reference: str) -> None:
    own = of_rates(2000, len(rates), *rates)
    healthy = FROM_FLOOR if reference == "floor" else healthy_acceptance(FLOOR, own)
    after = decided_after(rates, healthy, "collapsed", most=160, runs=600)
    assert (after <= 160).mean() < 0.005


def test_the_bound_holds_for_a_drafter_that_is_just_healthy() -> None:
    """A length of 2: every trial accepts exactly what counts as healthy; Ville's bound over all looks."""
    assert FROM_FLOOR is not None
    just = [FROM_FLOOR ** (i + 1) for i in range(15)]
    after = decided_after(just, FROM_FLOOR, "collapsed", most=160, runs=2000)
    assert (after <= 160).mean() <= 2 * FALSE_ALARMS


def test_a_good_drafter_is_soon_known_to_be_good() -> None:
    after = decided_after(RIGHT_K15, FROM_FLOOR, "healthy", most=56, runs=500)
    assert np.median(after) <= 16


def test_field_reports_collapse_is_called_in_twenty_rounds() -> None:
    """0.8 % of 20 rounds at k=15 are 2 or 3 accepted tokens."""
    for hits in (2, 3):
        assert look(Window(20, hits, 300, (hits, *[0] * 14), 15), FROM_FLOOR).state == "collapsed"


LESS_THAN_ONE_PERCENT = (0.11, 0.008, 0.002) + (0.0,) * 12  # an acceptance length of 1.12


@pytest.mark.parametrize("reference", ["floor", "baseline"])
def test_less_than_one_percent_is_called_within_twenty_rounds(reference: str) -> None:
    """Drawn rounds of a drafter with 0.8 % acceptance: how often is it called, asked after every fourth round."""
    healthy = FROM_FLOOR if reference == "floor" else healthy_acceptance(FLOOR, measured("right-k15-c1"))
    after = decided_after(LESS_THAN_ONE_PERCENT, healthy, "collapsed", most=20, runs=2000, every=4)
    assert (after <= 20).mean() >= 0.88


def test_a_loop_that_accepts_everything_once_does_not_hide_a_collapse() -> None:
    counts = tuple(hits + 1 for hits in (6, 1, *[0] * 13))
    assert look(Window(45, sum(counts), 675, counts, 15), FROM_FLOOR).state == "collapsed"


def test_single_errors_are_left_to_the_comparison() -> None:
    """A used mask token keeps position 0: bad, but nothing that a few rounds could tell."""
    few = of_rates(50, 15, 0.62, 0.148, 0.032)
    assert look(few, FROM_FLOOR).state != "collapsed"


def test_a_weak_baseline_lowers_what_counts_as_healthy() -> None:
    weak = of_rates(1000, 7, 0.35, 0.12, 0.04)
    healthy = healthy_acceptance(FLOOR, weak)
    assert healthy is not None
    assert FROM_FLOOR is not None
    assert healthy < min(FROM_FLOOR, 0.51 / 1.47)  # below its own acceptance a trial: the first prompts may be harder
    assert look(of_rates(60, 7, 0.35, 0.12, 0.04), healthy).state != "collapsed"


@pytest.mark.parametrize(("floor", "healthy"), [(1.0, None), (1.5, 0.5), (1.2, 0.25), (5.0, 0.6)])
def test_floor_sets_what_is_healthy_and_a_floor_of_one_allows_everything(floor: float, healthy: float | None) -> None:
    assert healthy_acceptance(floor, None) == (None if healthy is None else pytest.approx(healthy))


def test_without_positions_or_reference_nothing_is_decided() -> None:
    assert look(Window(100, 0, 1500, (), 15), FROM_FLOOR) == EarlyLook("open", 100, FROM_FLOOR, 0.0)
    assert look(of_rates(100, 15), None).state == "open"
    assert look(Window(), FROM_FLOOR).state == "open"
