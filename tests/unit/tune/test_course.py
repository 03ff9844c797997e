"""The whole course of a tuning on made-up machines: what is measured, in how many starts, and where it ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roles.tune.answer import answer
from roles.tune.course import MEASURED_STARTS, next_to_measure, settle
from roles.tune.points import Point
from tests.unit.tune.machine import FALLING, H200_LIKE, LARGEST, Machine

NEARLY = 0.97
"""Of the optimum: the smallest k of a plateau is taken, and runs differ by one percent."""


@dataclass(frozen=True)
class Ended:
    """k is where the tuning ended."""

    k: int
    points: tuple[Point, ...]
    starts: int

    @property
    def measured(self) -> list[int]:
        return list(dict.fromkeys(point.speculative_tokens for point in self.points))


def tuned(
    machine: Machine, serving: int, seed: int = 0, *, streams: Sequence[int] = (1,), noise: float = 0.01
) -> Ended:
    """Tune it as the playbook does: what serves costs no start."""
    rng = np.random.default_rng(seed)
    points: list[Point] = []

    def measure(k: int) -> None:
        points.extend(machine.measure(k, rng, streams=count, noise=noise) for count in streams)

    measure(serving)
    starts = 0
    while starts < MEASURED_STARTS and (k := next_to_measure(points, LARGEST)) is not None:
        measure(k)
        starts += 1
    return Ended(settle(answer(points)), tuple(points), starts)


def machines(count: int) -> Iterator[tuple[Machine, int]]:
    """Machines of every kind with what serves on them; speculation pays on most of them, on some it does not."""
    rng = np.random.default_rng(20261129)
    for _ in range(count):
        first, fall = rng.uniform(0.05, 0.95), rng.uniform(0.4, 0.97)
        a_ms = rng.uniform(5, 80)
        yield (
            Machine(
                rates=[first * fall**i for i in range(LARGEST)],
                a_ms=a_ms,
                b_ms=a_ms * float(np.exp(rng.uniform(np.log(0.003), np.log(0.15)))),
                plain_ms=a_ms / (1 + rng.uniform(0, 0.4)),
                effect=rng.uniform(0, 0.4),
            ),
            int(rng.choice([15, 15, 8, 5, 3, 1])),
        )


def test_nineteen_of_twenty_machines_end_within_three_percent_of_their_optimum() -> None:
    losses, off = [], 0
    for number, (machine, serving) in enumerate(machines(120)):
        ended = tuned(machine, serving, number)
        losses.append(1 - machine.speed(ended.k) / machine.optimum())
        off += machine.speed(0) == machine.optimum() and ended.k == 0
        assert ended.starts <= MEASURED_STARTS
    assert float(np.mean([loss <= 1 - NEARLY for loss in losses])) >= 0.95
    assert float(np.mean(losses)) < 0.01
    assert off >= 5


STRONG = [0.9 * 0.93**i for i in range(LARGEST)]
HOPELESS = [0.05 * 0.4**i for i in range(LARGEST)]


@pytest.mark.parametrize("serving", [1, 3, 5, 8, 15])
@pytest.mark.parametrize(
    ("rates", "b_ms", "best"),
    [
        pytest.param(FALLING, 1.87, {3, 4, 5}, id="field report"),
        pytest.param(STRONG, 0.3, {12, 13, 14, 15}, id="as many as there are"),
        pytest.param(HOPELESS, 1.87, {0}, id="off"),
        pytest.param([0.8, *[0.0] * 14], 1.87, {1}, id="one position"),
    ],
)
def test_it_does_not_matter_what_serves_when_it_begins(
    rates: Sequence[float], b_ms: float, best: set[int], serving: int
) -> None:
    machine = Machine(rates, a_ms=41.9, b_ms=b_ms, plain_ms=41.0)
    ended = tuned(machine, serving, noise=0.003)
    assert ended.k in best, ended.measured
    assert machine.speed(ended.k) >= NEARLY * machine.optimum()


def test_a_best_that_lies_at_the_end_of_what_is_known_is_looked_beyond() -> None:
    machine = Machine(STRONG, a_ms=40, b_ms=0.3, plain_ms=38)
    assert tuned(machine, 8).measured[:2] == [8, 15]


def test_what_serves_is_enough_where_nothing_is_to_be_won() -> None:
    machine = Machine(FALLING, a_ms=41.9, b_ms=1.87, plain_ms=41.0)
    rng = np.random.default_rng(1)
    points = [machine.measure(k, rng, rounds=100_000, noise=0.001) for k in (15, 4, 3, 5, 0)]
    assert next_to_measure(points, LARGEST) is None


def test_several_concurrencies_are_measured_with_the_same_starts_and_each_is_proven() -> None:
    machine = H200_LIKE
    ended = tuned(machine, 15, streams=(1, 32))
    assert ended.starts <= MEASURED_STARTS
    assert {(point.speculative_tokens, point.concurrency) for point in ended.points} == {
        (k, count) for k in ended.measured for count in (1, 32)
    }
    worst = {
        k: max(1 - machine.speed(k, count) / machine.optimum(count) for count in (1, 32)) for k in range(LARGEST + 1)
    }
    assert worst[ended.k] <= min(worst.values()) + 0.03


@settings(max_examples=25, deadline=None)
@given(
    first=st.floats(0.01, 0.99),
    fall=st.floats(0.01, 0.99),
    a_ms=st.floats(2, 200),
    share=st.floats(0.001, 0.3),
    drafter=st.floats(0, 0.5),
    serving=st.integers(0, LARGEST),
    seed=st.integers(0, 1000),
)
def test_it_ends_on_something_measured_that_no_other_measured_one_beats(
    first: float, fall: float, a_ms: float, share: float, drafter: float, serving: int, seed: int
) -> None:
    """For any machine and any start: at most two starts, no k twice, and the end is the best of the measured, nearly."""
    machine = Machine([first * fall**i for i in range(LARGEST)], a_ms, share * a_ms, a_ms / (1 + drafter))
    ended = tuned(machine, serving, seed, noise=0.005)
    assert ended.starts <= MEASURED_STARTS
    assert len(ended.points) == len(ended.measured) == ended.starts + 1
    assert ended.k in ended.measured
    fastest = max(point.tok_s or 0 for point in ended.points)
    (there,) = (point.tok_s or 0 for point in ended.points if point.speculative_tokens == ended.k)
    assert there >= 0.95 * fastest
