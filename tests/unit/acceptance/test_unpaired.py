"""Other requests on both sides: equal servers are called different as often as it says, and a real loss is seen."""

from collections.abc import Sequence

import numpy as np
import pytest

from roles.acceptance.series import Seen
from roles.acceptance.unpaired import Measured, unpaired
from roles.acceptance.window import Window
from tests.unit.acceptance.cases import of_rates
from tests.unit.acceptance.simulate import FIELD_REPORT_K5, RIGHT_K5, RIGHT_K15, chances, window_of

SEVEN_PERCENT_LESS = 1 - 0.07 * (1 + sum(RIGHT_K5)) / sum(RIGHT_K5)


def served(
    rng: np.random.Generator, requests: int, *, lasting: int = 1, rounds: int = 195, factor: float = 1.0
) -> list[Seen]:
    """A log's windows: requests that differ by 12 % in what they accept, each `lasting` for so many windows."""
    ease = np.repeat(np.clip(rng.normal(1, 0.12, requests), 0.5, 1.4), lasting)
    curves = np.minimum(np.array(RIGHT_K5) * ease[:, None] * factor, 0.99)
    return [Seen(window_of(drawn), i) for i, drawn in enumerate(rng.multinomial(rounds, chances(curves)))]


def called_different(
    requests: tuple[int, int], *, runs: int, lasting: int = 1, rounds: int = 195, factor: float = 1.0
) -> float:
    """How often two servers are called different at 95 %; factor: what the second one accepts of the first's."""
    rng = np.random.default_rng(51)
    called = 0
    for _ in range(runs):
        before = served(rng, requests[0], lasting=lasting, rounds=rounds)
        after = served(rng, requests[1], lasting=lasting, rounds=rounds, factor=factor)
        found = unpaired(before, after, 0.95)
        assert found is not None
        called += found.change.p_value < 0.05
    return called / runs


@pytest.mark.parametrize(("requests", "lasting"), [((20, 20), 1), ((8, 50), 1), ((30, 30), 2), ((25, 25), 3)])
def test_false_alarms_are_within_a_point_of_nominal_under_clustering(requests: tuple[int, int], lasting: int) -> None:
    """Also where a request lasts for several windows, so that neighbours are alike."""
    assert called_different(requests, runs=1000, lasting=lasting, rounds=50) <= 0.06 + 0.008  # two errors of 1000 runs


@pytest.mark.parametrize("requests", [(1, 1), (3, 3), (1, 30), (4, 20)])
def test_a_few_windows_raise_no_more_alarms_than_many(requests: tuple[int, int]) -> None:
    """One log line is one request: how much requests differ is then taken for granted."""
    assert called_different(requests, runs=1000) <= 0.06 + 0.008


def test_a_drop_of_seven_percent_is_seen_in_eighty_requests_of_fifty_rounds() -> None:
    """Fifty would do for pairs of the same prompts; other prompts on both sides need more."""
    assert called_different((80, 80), runs=300, rounds=50, factor=SEVEN_PERCENT_LESS) >= 0.9


def compared(before: Sequence[Window], after: Sequence[Window]) -> Measured | None:
    old, new = ([Seen(window, i) for i, window in enumerate(side)] for side in (before, after))
    return unpaired(old, new, 0.95)


def test_one_line_against_one_line_says_what_it_assumes() -> None:
    found = compared([of_rates(195, 5, *FIELD_REPORT_K5)], [of_rates(195, 5, *RIGHT_K5)])
    assert found is not None
    assert found.assumed
    assert found.change.p_value > 0.05


def test_unequal_k_is_compared_over_the_positions_of_both() -> None:
    found = compared([of_rates(500, 15, *RIGHT_K15)] * 6, [of_rates(500, 5, *RIGHT_K5)] * 6)
    assert found is not None
    assert found.positions == 5
    assert not found.assumed
    assert compared([Window(500, 900, 7500, (), 15)], [of_rates(500, 5, *RIGHT_K5)]) is None
