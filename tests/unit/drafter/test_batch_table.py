"""vLLM's table of tokens by batch size: what it takes, and what it makes of gaps and ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.drafter.batch_table import Range, read, tokens_at
from roles.drafter.engines import traits

TABLE = [[5, 32, 5], [1, 2, 15]]


def test_ranges_are_put_in_order() -> None:
    assert read(TABLE) == ((Range(1, 2, 15), Range(5, 32, 5)), ())


@pytest.mark.parametrize(("batch_size", "tokens"), [(1, 15), (2, 15), (4, 15), (5, 5), (32, 5), (1000, 5)])
def test_gaps_and_the_end_keep_what_was_before(batch_size: int, tokens: int) -> None:
    """As vLLM's build_dynamic_sd_schedule_lookup fills them."""
    assert tokens_at(read(TABLE)[0], batch_size) == tokens


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "with at least one"),
        ({"1-4": 15}, "should be a list"),
        ("[[1, 4, 15]]", "should be a list"),
        ([[1, 4]], "[1, 4] is no [first batch size, last, tokens]"),
        ([[1, 4, True]], "is no [first"),
        ([[1, 4, 1.5]], "is no [first"),
        ([[0, 4, 15]], "a range is from 1"),
        ([[1, 0, 15]], "a range is from 1"),
        ([[1, 4, -1]], "less than no token"),
        ([[2, 4, 15]], "begins at 2"),
        ([[1, 4, 15], [4, 8, 5]], "[1, 4, 15] and [4, 8, 5] overlap"),
    ],
)
def test_what_vllm_refuses_is_said(value: object, said: str) -> None:
    ranges, wrong = read(value)
    assert ranges == ()
    assert any(said in one for one in wrong), wrong


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=12))
def test_anything_is_a_table_or_refused(value: object) -> None:
    """Whatever the inventory holds: ranges that follow each other from 1 on, or a reason."""
    ranges, wrong = read(value)
    assert bool(ranges) is not bool(wrong)
    if ranges:
        assert tokens_at(ranges, 1) >= 0


@pytest.mark.parametrize(
    ("version", "pull_request", "knows"),
    [
        ("0.23.0", None, False),
        ("0.24.0", None, True),
        ("0.33.0", None, True),
        ("0.24.0rc1", None, None),
        (None, None, None),
        ("0.20.1.dev1", 32374, True),
    ],
)
def test_it_came_with_engine_024(version: str | None, pull_request: int | None, knows: bool | None) -> None:
    assert traits(version, pull_request).batch_table is knows
