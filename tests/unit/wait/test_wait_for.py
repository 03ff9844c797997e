"""Waiting: until there is an answer, less and less often, and never past the deadline."""

from collections.abc import Callable

import pytest

from inventory.errors import DeadlineExceeded
from inventory.wait import wait_for


class Clock:
    """A clock that only sleeping moves; `slept` keeps each pause, in seconds."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


def after(count: int, answer: object) -> Callable[[], object | None]:
    """A probe that has nothing to say `count` times."""
    left = iter([None] * count)
    return lambda: next(left, answer)


def test_an_answer_that_is_there_costs_no_pause() -> None:
    clock = Clock()
    assert wait_for(after(0, "up"), what="it", timeout_s=0, clock=clock, sleep=clock.sleep) == "up"
    assert clock.slept == []


@pytest.mark.parametrize("answer", [0, False, "", ()])
def test_any_answer_but_none_is_one(answer: object) -> None:
    clock = Clock()
    assert wait_for(after(2, answer), what="it", timeout_s=9, clock=clock, sleep=clock.sleep) == answer


def test_pauses_grow_up_to_their_cap() -> None:
    clock = Clock()
    wait_for(after(6, "up"), what="it", timeout_s=100, interval_s=1, max_interval_s=4, clock=clock, sleep=clock.sleep)
    assert clock.slept == [1, 1.5, 2.25, 3.375, 4, 4]


def test_the_last_question_is_asked_at_the_deadline_and_not_later() -> None:
    clock = Clock()
    asked: list[float] = []

    def probe() -> None:
        asked.append(clock() - 100)

    with pytest.raises(DeadlineExceeded, match=r"waited 3 s for ct129 to answer over ssh"):
        wait_for(probe, what="ct129 to answer over ssh", timeout_s=3, interval_s=1, clock=clock, sleep=clock.sleep)
    assert asked == [0, 1, 2.5, 3]


def test_who_waits_is_told_for_how_long_before_each_pause() -> None:
    clock = Clock()
    told: list[float] = []
    wait_for(after(3, "up"), what="it", timeout_s=9, interval_s=1, on_wait=told.append, clock=clock, sleep=clock.sleep)
    assert told == [0, 1, 2.5]


def test_what_the_probe_raises_ends_the_waiting() -> None:
    def probe() -> None:
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        wait_for(probe, what="it", timeout_s=9, clock=Clock(), sleep=lambda _: None)


def test_a_wait_within_a_wait_ends_both_when_its_own_time_is_up() -> None:
    clock = Clock()

    def probe() -> str:
        return wait_for(lambda: None, what="the inner one", timeout_s=1, clock=clock, sleep=clock.sleep)

    with pytest.raises(DeadlineExceeded, match="the inner one"):
        wait_for(probe, what="the outer one", timeout_s=9, clock=clock, sleep=clock.sleep)
