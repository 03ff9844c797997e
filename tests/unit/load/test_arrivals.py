"""The open loop's schedule."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.load.arrivals import Arrivals

rates = st.floats(0.01, 1000)


@given(count=st.integers(0, 300), rate=rates, burstiness=st.floats(0.01, 100), seed=st.integers(0, 1000))
def test_the_offered_rate_is_exact_and_times_never_go_back(
    count: int, rate: float, burstiness: float, seed: int
) -> None:
    """For any draw: as many times as requests, the first 0, rising, and the mean gap is 1 / rate."""
    due = Arrivals(rate, burstiness, seed).schedule(count)
    assert len(due) == count
    assert due[:1] == [0.0] * min(count, 1)
    assert all(before <= after for before, after in itertools.pairwise(due))
    if count > 1:
        assert due[-1] == pytest.approx((count - 1) / rate)


@given(rate=rates, factor=st.floats(0.1, 10))
def test_another_rate_is_the_same_pattern_faster(rate: float, factor: float) -> None:
    """Two rates with one seed: each time of one is the other's, scaled. So a sweep over rates compares like with like."""
    slow, fast = Arrivals(rate).schedule(50), Arrivals(rate * factor).schedule(50)
    assert slow == pytest.approx([factor * time_s for time_s in fast])


def test_seeds_draw_different_patterns() -> None:
    assert Arrivals(1, seed=1).schedule(20) == Arrivals(1, seed=1).schedule(20)
    assert Arrivals(1, seed=1).schedule(20) != Arrivals(1, seed=2).schedule(20)


@pytest.mark.parametrize(("burstiness", "spread"), [(1.0, 1.0), (0.25, 2.0), (4.0, 0.5), (math.inf, 0.0)])
def test_burstiness_is_the_shape_of_the_gaps(burstiness: float, spread: float) -> None:
    """A gamma distribution of shape b varies by 1 / sqrt(b) of its mean."""
    gaps = np.diff(Arrivals(10, burstiness).schedule(20_000))
    assert np.std(gaps) / np.mean(gaps) == pytest.approx(spread, abs=0.05)


@pytest.mark.parametrize(("rate", "burstiness"), [(0, 1), (-1, 1), (math.inf, 1), (math.nan, 1), (1, 0), (1, math.nan)])
def test_rates_that_mean_nothing_are_refused(rate: float, burstiness: float) -> None:
    with pytest.raises(ValueError):
        Arrivals(rate, burstiness)


@pytest.mark.parametrize(
    ("arrivals", "words"),
    [
        (Arrivals(4), "4 requests/s (Poisson, seed 0)"),
        (Arrivals(0.5, 2, 7), "0.5 requests/s (burstiness 2, seed 7)"),
        (Arrivals(2, math.inf), "2 requests/s at even gaps"),
    ],
)
def test_it_says_what_it_is(arrivals: Arrivals, words: str) -> None:
    assert str(arrivals) == words
