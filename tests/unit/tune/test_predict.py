"""From measured points to the best number of speculative tokens."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inventory.errors import UsageError
from roles.tune.points import Point
from roles.tune.predict import predict
from tests.unit.tune.points import FIELD_5, FIELD_15, optimum, point, sweep

RATES = (0.72, 0.48, 0.3, 0.18, 0.1, 0.06, 0.04, 0.03, 0.02, 0.015, 0.01, 0.008, 0.006, 0.004, 0.003)
"""Rates that do not depend on k."""

_WITH_TAIL = (0.72, 0.48, 0.295, 0.18, 0.10, 0.04, 0.027, 0.015, 0.008, 0.005, 0.003, 0.002, 0.0015, 0.001, 0.0008)


@pytest.mark.parametrize(
    "at_15",
    [
        pytest.param(FIELD_15, id="four rates"),
        pytest.param(
            FIELD_15.model_copy(update={"per_position_rates": (0.72, 0.48, 0.3, 0.18, *[0.0] * 11)}), id="zeros"
        ),
        pytest.param(FIELD_15.model_copy(update={"per_position_rates": _WITH_TAIL}), id="a tail"),
        pytest.param(FIELD_15.model_copy(update={"per_position_rates": (0.70, 0.43, 0.27, 0.14)}), id="the lowest"),
        pytest.param(FIELD_15.model_copy(update={"per_position_rates": (0.74, 0.53, 0.32, 0.22)}), id="the highest"),
        pytest.param(FIELD_15.model_copy(update={"rounds": 1000, "accepted": 1800, "drafted": 15000}), id="counts"),
    ],
)
@pytest.mark.parametrize(
    "at_5",
    [
        pytest.param(FIELD_5, id="5 with rates"),
        pytest.param(FIELD_5.model_copy(update={"per_position_rates": ()}), id="5 with counts"),
        pytest.param(FIELD_5.model_copy(update={"per_position_rates": (), "rounds": None}), id="418 of 975"),
    ],
)
def test_the_field_reports_numbers_give_five_tokens(at_15: Point, at_5: Point) -> None:
    found = predict([at_15, at_5])
    assert found.best == 5
    assert 5 in found.plateau
    assert set(found.plateau) <= {4, 5, 6}
    assert found.at(15).tok_s == pytest.approx(40)
    assert found.at(5).tok_s == pytest.approx(61.3)


def test_the_field_reports_cost_line_is_the_known_one() -> None:
    at_15 = FIELD_15.model_copy(update={"rounds": 1000, "accepted": 1800, "drafted": 15000})
    found = predict([at_15, FIELD_5])
    assert 1e3 * found.a_s == pytest.approx(41.9, abs=0.1)
    assert 1e3 * found.b_s == pytest.approx(1.87, abs=0.01)


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("pair", list(itertools.combinations((0, 5, 8, 15), 2)))
def test_two_points_of_a_real_sweep_choose_within_three_percent_of_its_best(
    concurrency: int, pair: tuple[int, int]
) -> None:
    points = sweep(concurrency)
    found = predict([point for point in points if point.speculative_tokens in pair], concurrency)
    best = max(point.tok_s or 0 for point in points)
    assert _real_speed(points, concurrency, found.best) >= 0.97 * best


def _real_speed(points: list[Point], concurrency: int, k: int) -> float:
    """What the whole sweep says about a k: as measured, or with rates and round time between the neighbours'.

    Below 5 the time goes straight on, and the rates are those at 5.
    """
    known = {point.speculative_tokens: point for point in points}
    if k in known:
        return known[k].tok_s or 0
    sizes = (5, 8, 15)
    took = [concurrency * (known[size].length or 0) / (known[size].tok_s or 1) for size in sizes]
    straight_on = took[0] - (took[1] - took[0]) / (sizes[1] - sizes[0]) * (sizes[0] - k)
    round_s = straight_on if k < sizes[0] else float(np.interp(k, sizes, took))
    above = next(size for size in sizes if size >= k)
    below = max((size for size in sizes if size < k), default=above)
    weight = (k - below) / (above - below) if above > below else 1.0
    early, late = known[below].per_position_rates[:k], known[above].per_position_rates[:k]
    rates = [weight * new + (1 - weight) * old for old, new in zip(early, late, strict=False)] + list(late[below:])
    return concurrency * (1 + sum(rates)) / round_s


def test_what_was_measured_is_predicted_as_it_was() -> None:
    points = sweep(8)
    found = predict(points, 8)
    for measured in points:
        speed = found.at(measured.speculative_tokens)
        assert speed.measured
        assert speed.tok_s == pytest.approx(measured.tok_s)
        assert speed.low < speed.tok_s < speed.high


def test_the_interval_of_a_guess_is_wider_than_that_of_a_measurement() -> None:
    found = predict([point(15, RATES, 42, 1.9), point(5, RATES, 42, 1.9)])
    guess, measured = found.at(3), found.at(5)
    assert (guess.high - guess.low) / guess.tok_s > 1.5 * (measured.high - measured.low) / measured.tok_s


def test_few_rounds_make_the_interval_of_a_measurement_wide_too() -> None:
    """Other prompts of the same kind would have been accepted more or less."""
    few, many = (
        predict([point(15, RATES, 42, 1.9, rounds=rounds), point(5, RATES, 42, 1.9, rounds=rounds)]).at(5)
        for rounds in (100, 10_000)
    )
    assert few.high - few.low > 2 * (many.high - many.low)


def test_the_plateau_is_wide_where_tokens_cost_nothing_and_its_smallest_is_taken() -> None:
    found = predict(sweep(1), 1)
    assert found.best == min(found.plateau) <= 6
    assert set(found.plateau) >= set(range(6, 16))


def test_more_rounds_narrow_the_plateau() -> None:
    few, many = (
        predict([point(15, RATES, 40, 0.4, rounds=rounds), point(4, RATES, 40, 0.4, rounds=rounds)])
        for rounds in (60, 100_000)
    )
    assert len(few.plateau) > len(many.plateau)


def test_off_is_best_where_it_was_measured_to_be() -> None:
    points = [point(15, RATES, 40, 12), point(3, RATES, 40, 12), Point(speculative_tokens=0, tok_s=40, concurrency=1)]
    assert predict(points).best == 0


def test_speculation_is_not_given_up_for_a_guess_that_is_only_as_good() -> None:
    points = [point(15, (0.12,) * 15, 40, 4), point(1, (0.12,) * 15, 40, 4)]
    assert 0 not in predict(points).plateau or predict(points).best == 0


def test_noise_is_taken_from_runs_that_were_repeated() -> None:
    again = FIELD_5.model_copy(update={"tok_s": 63.0})
    assert predict([FIELD_15, FIELD_5]).noise is None
    assert predict([FIELD_15, FIELD_5, again]).noise == pytest.approx(0.0194, abs=0.002)


def test_a_point_without_a_speed_still_lends_its_rates() -> None:
    untimed = Point(speculative_tokens=15, rounds=5000, per_position_rates=RATES)
    found = predict([untimed, point(5, RATES, 42, 1.9), point(2, RATES, 42, 1.9)])
    assert len(found.speeds) == 16
    assert not found.at(15).measured


@pytest.mark.parametrize(
    "points",
    [
        [Point(speculative_tokens=5, tok_s=60)],
        [
            Point(speculative_tokens=0, tok_s=30),
            Point(speculative_tokens=5, per_position_rates=(0.5, 0.4, 0.3, 0.2, 0.1)),
        ],
    ],
)
def test_points_that_say_too_little_are_refused(points: list[Point]) -> None:
    with pytest.raises(UsageError):
        predict(points)


@settings(max_examples=25, deadline=None)
@given(
    first=st.floats(0.3, 0.95),
    fall=st.floats(0.5, 0.97),
    a_ms=st.floats(5, 80),
    share=st.floats(0.003, 0.15),
    low=st.integers(1, 8),
)
def test_on_a_machine_that_follows_the_model_two_exact_points_lose_little(
    first: float, fall: float, a_ms: float, share: float, low: int
) -> None:
    """For any falling rates and any cost line: the choice gives at least 95 % of the optimum that lies above `low`.

    Below the lower point the model bends on purpose, so there only the lower point itself is promised.
    """
    rates = tuple(first * fall**i for i in range(15))
    b_ms = share * a_ms
    found = predict([point(15, rates, a_ms, b_ms), point(low, rates, a_ms, b_ms)])
    speed = {k: (1 + sum(rates[:k])) / (a_ms + b_ms * k) for k in range(1, 16)}
    reachable = speed[max(low, optimum(rates, a_ms, b_ms))]
    assert found.best == 0 or speed[found.best] >= 0.95 * reachable


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_any_points_give_an_ordered_answer_or_a_refusal(data: st.DataObject) -> None:
    """For any points that read_points lets through: finite numbers, low <= tok_s <= high, and the best is one of them."""
    points = []
    for _ in range(data.draw(st.integers(1, 4))):
        k = data.draw(st.integers(0, 20))
        rates = sorted(data.draw(st.lists(st.floats(0, 1), max_size=k)), reverse=True)
        speed = data.draw(st.none() | st.floats(1e-3, 1e5))
        rounds = data.draw(st.none() | st.integers(0, 10**6))
        points.append(Point(speculative_tokens=k, tok_s=speed, rounds=rounds, per_position_rates=tuple(rates)))
    try:
        found = predict(points)
    except UsageError:
        return
    assert found.best == found.plateau[0]
    for speed_at in found.speeds:
        assert np.isfinite([speed_at.low, speed_at.tok_s, speed_at.high]).all()
        assert 0 < speed_at.low <= speed_at.tok_s <= speed_at.high
