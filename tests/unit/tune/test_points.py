"""Reading points from JSON: what fits, and what is wrong where."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import UsageError
from roles.tune.points import Point, read_points

GOOD: dict[str, Any] = {"speculative_tokens": 5, "tok_s": 61.3, "accepted": 418, "drafted": 975}


def test_what_is_not_known_may_be_left_out_or_null() -> None:
    content = json.dumps([{**GOOD, "rounds": None, "per_position_rates": None, "concurrency": None}]).encode()
    assert read_points(content, "points.json") == [Point(**GOOD)]


def test_a_point_of_a_class_of_prompts_keeps_its_class_on_its_way_through_json() -> None:
    (point,) = read_points(json.dumps([{**GOOD, "class": "code"}]).encode(), "points.json")
    assert point.kind == "code"
    assert point.model_dump(mode="json")["class"] == "code"
    assert read_points(json.dumps([point.model_dump(mode="json")]).encode(), "again.json") == [point]


def test_keys_of_other_programs_and_a_byte_order_mark_are_no_fault() -> None:
    content = b"\xef\xbb\xbf" + json.dumps([{**GOOD, "at": "2026-11-29", "gpu": "A6000"}]).encode()
    assert read_points(content, "points.json") == [Point(**GOOD)]


def test_rates_that_a_log_has_rounded_still_fit_its_counts() -> None:
    assert Point(**GOOD, rounds=195, per_position_rates=(0.8, 0.56, 0.38, 0.25, 0.17)).length == pytest.approx(
        3.1436, abs=1e-4
    )


def test_rounds_follow_from_drafted_tokens() -> None:
    assert Point(**GOOD).counted_rounds == 195
    assert Point(**GOOD).length == pytest.approx(3.1436, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tok_s": "fast"}, 'point 2: tok_s: "fast" should be a number'),
        ({"tok_s": "61.3"}, 'point 2: tok_s: "61.3" should be a number'),
        ({"tok_s": True}, "point 2: tok_s: true should be a number"),
        ({"tok_s": float("nan")}, "point 2: tok_s: should be a finite number"),
        ({"tok_s": float("inf")}, "point 2: tok_s: should be a finite number"),
        ({"tok_s": 0}, "point 2: tok_s: should be greater than or equal to 0.001"),
        ({"tok_s": -40}, "point 2: tok_s: should be greater than or equal to 0.001"),
        ({"speculative_tokens": 10**9}, "point 2: speculative_tokens: should be less than or equal to 256"),
        ({"speculative_tokens": 5.5}, "point 2: speculative_tokens: should be a valid integer"),
        ({"speculative_tokens": "5"}, 'point 2: speculative_tokens: "5" should be a number'),
        ({"per_position_rates": [0.5, float("nan")]}, "point 2: per_position_rates: 1: should be a finite number"),
        ({"per_position_rate": [0.5]}, "point 2: 'per_position_rate' is no key; 'per_position_rates' is"),
        ({"speculative-tokens": 5, "concurency": 8}, "point 2: 'concurency' is no key; 'concurrency' is"),
        (
            {"rounds": 195, "per_position_rates": [0.1, 0.05, 0.01, 0, 0]},
            "per_position_rates add up to 0.16 accepted tokens a round, accepted (418) in 195 rounds is 2.14",
        ),
        ({"speculative_tokens": -1}, "point 2: speculative_tokens"),
        ({"speculative_tokens": None}, "point 2: speculative_tokens"),
        ({"per_position_rates": [0.5, 1.2]}, "point 2: per_position_rates: 1: should be less than or equal to 1"),
        ({"per_position_rates": [0.3, 0.6]}, "rates rise"),
        ({"per_position_rates": [0.3] * 6}, "6 per_position_rates, but speculative_tokens is 5"),
        ({"accepted": 980}, "accepted (980) is more than drafted (975)"),
        ({"rounds": 10}, "more than 5 in each of 10 rounds"),
        ({"concurrency": 0}, "point 2: concurrency"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(change: dict[str, object], said: str) -> None:
    content = json.dumps([GOOD, {**GOOD, **change}]).encode()
    with pytest.raises(UsageError) as refused:
        read_points(content, "points.json")
    assert refused.value.what == "points.json: no points to tune from"
    assert any(said in line and line.startswith("point 2") for line in refused.value.why)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[]", "points.json: the list is empty"),
        (b"", "no points to tune from"),
        (b"[1, [2]]", "no points to tune from"),
        (b"[" * 10_000, "no points to tune from"),
        (b'[{"speculative_tokens": 5, "accepted": 418, "drafted": 975}]', "no point has tok_s"),
        (b'[{"speculative_tokens": 0, "tok_s": 20}]', "no point speculates"),
        (b"{", "no points to tune from"),
        (b'{"speculative_tokens": 5}', "no points to tune from"),
    ],
)
def test_files_without_a_usable_point_are_refused(content: bytes, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_points(content, "points.json")


@given(st.binary())
def test_any_bytes_are_points_or_a_refusal(content: bytes) -> None:
    """Whatever the file holds, nothing but UsageError is raised."""
    with contextlib.suppress(UsageError):
        read_points(content, "points.json")
