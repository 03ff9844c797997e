"""A table of tokens by batch size, on machines whose truth is known."""

from itertools import pairwise

import numpy as np
import pytest

from roles.tune.answer import Answer, answer
from roles.tune.by_batch import by_batch, speed_at
from tests.unit.tune.machine import FALLING, H200_LIKE, Machine
from tests.unit.tune.points import sweep


def measured(machine: Machine, streams: tuple[int, ...], ks: tuple[int, ...] = (15, 5, 2)) -> Answer:
    rng = np.random.default_rng(4)
    return answer([machine.measure(k, rng, streams=count, rounds=50_000, noise=0.001) for k in ks for count in streams])


def test_more_streams_get_fewer_tokens_and_every_batch_size_has_its_range() -> None:
    table = by_batch(measured(H200_LIKE, (1, 8, 32)).by_concurrency)
    assert (table[0].first, table[-1].last) == (1, 32)
    assert all(after.first == before.last + 1 for before, after in pairwise(table))
    tokens = [one.speculative_tokens for one in table]
    assert tokens == sorted(set(tokens), reverse=True)
    assert len(tokens) >= 2


@pytest.mark.parametrize("effect", [0.0, 0.3])
def test_no_batch_size_loses_much_against_the_best_that_a_table_could_give_it(effect: float) -> None:
    """Measured at 1, 8 and 32; true at every size between. The drafter's block is that of the largest k."""
    machine = Machine(FALLING, 5.5, 0.004, 5.2, effect, (0.001, 0.012))
    table = by_batch(measured(machine, (1, 8, 32)).by_concurrency)
    most = max(one.speculative_tokens for one in table)
    for one in table:
        for size in range(one.first, one.last + 1):
            speeds = {k: (1 + sum(machine.rates_at(most)[:k])) / machine.round_ms(k, size) for k in range(1, most + 1)}
            assert speeds[one.speculative_tokens] >= 0.94 * max(speeds.values()), (size, one)


def test_concurrencies_that_agree_make_a_table_of_one_range() -> None:
    machine = Machine(FALLING, 42, 1.9, 41)
    (only,) = by_batch(measured(machine, (1, 8)).by_concurrency)
    assert (only.first, only.last) == (1, 8)
    assert only.speculative_tokens in {4, 5}


def test_the_real_sweep_comes_to_a_table_that_is_no_slower_than_either_number() -> None:
    found = answer([*sweep(1), *sweep(8)])
    table = by_batch(found.by_concurrency)
    assert {one.speculative_tokens for one in table} <= set(range(4, 9))


def test_a_smaller_number_gets_the_positions_of_the_largest_block() -> None:
    """Positions of a short block are better than those of a long one that is verified shortly."""
    machine = Machine(FALLING, 42, 1.9, 41, effect=0.4)
    found = measured(machine, (1,)).by_concurrency[0]
    assert speed_at(found, 5, 15) == pytest.approx(1e3 * (1 + sum(machine.rates_at(15)[:5])) / 51.5, rel=0.02)
    assert speed_at(found, 5, 5) == pytest.approx(machine.speed(5), rel=0.02)


def test_points_that_do_not_say_their_concurrency_make_no_table() -> None:
    points = [point.model_copy(update={"concurrency": None}) for point in sweep(1)]
    assert by_batch(answer(points).by_concurrency) == ()
