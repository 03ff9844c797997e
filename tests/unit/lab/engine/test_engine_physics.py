"""On the lab's GPUs the best number of speculative tokens depends on how many streams there are."""

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

PHYSICS = Path(__file__).parents[3] / "lab/engine/vllm/physics.py"
LENGTHS = {0: 1.0, 5: 3.1, 15: 2.9}


@pytest.fixture(scope="module")
def speed() -> Callable[[int, int], float]:
    """Returns a function: tokens per second of all streams together, with the right drafter."""
    step_s = runpy.run_path(str(PHYSICS))["step_s"]
    return lambda streams, k: streams * LENGTHS[k] / step_s(streams, k, 0)


def test_one_stream_is_as_fast_as_in_the_field_report(speed: Callable[[int, int], float]) -> None:
    assert speed(1, 0) == pytest.approx(24.4, abs=0.1)
    assert speed(1, 15) == pytest.approx(41.5, abs=0.5)
    assert speed(1, 5) == pytest.approx(60, abs=1)


def test_with_many_streams_long_drafts_are_slower_than_none_and_short_ones_are_not(
    speed: Callable[[int, int], float],
) -> None:
    assert 1.1 < speed(8, 15) / speed(8, 0) < 1.5
    assert 1.8 < speed(8, 5) / speed(8, 0) < 2.4
    assert speed(32, 15) < speed(32, 0) < 0.7 * speed(32, 5)


def test_more_streams_always_give_more_tokens(speed: Callable[[int, int], float]) -> None:
    for k in LENGTHS:
        speeds = [speed(streams, k) for streams in (1, 2, 4, 8, 16, 32)]
        assert speeds == sorted(speeds)
