"""Two runs side by side: what may be said about them, and what may not."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.conditions import PREVENTING
from roles.load.compare import Comparison, Row, compare
from roles.load.history import Run

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
CONDITIONS: Mapping[str, object] = {
    "engine": "vllm 0.33.0",
    "model": "m",
    "drafter": "d",
    "k": 5,
    "prompts": "std-50@1",
    "temperature": 0,
    "thinking": None,
    "concurrency": 1,
    "gpu": "A6000",
    "driver": "580",
    "max_tokens": 256,
    "extra_body": {},
}
BEFORE = Run(
    kind="bench",
    host="ct129",
    release="r1",
    at=AT,
    conditions=CONDITIONS,
    summary={"total_tok_s": 40.0, "ttft_s": {"p50": 0.2}, "tpot_s": {"mean": 0.02}},
    counts={"rounds": 100, "accepted": 200, "drafted": 500, "per_position": [80, 60, 30, 20, 10], "k": 5},
    id=1,
)
AFTER = replace(
    BEFORE,
    release="r2",
    at=AT + timedelta(hours=1),
    summary={"total_tok_s": 60.0, "ttft_s": {"p50": 0.3}, "tpot_s": {"mean": 0.02}},
    counts={"rounds": 200, "accepted": 500, "drafted": 1000, "per_position": [180, 150, 100, 50, 20], "k": 5},
    id=2,
)


def row(comparison: Comparison, metric: str) -> Row:
    (found,) = (row for row in comparison.rows if row.metric == metric)
    return found


def with_conditions(run: Run, **changed: object) -> Run:
    return replace(run, conditions={**run.conditions, **changed})


def test_the_same_work_is_compared_with_the_sign_that_each_number_has() -> None:
    comparison = compare(BEFORE, AFTER)
    assert comparison.refusals == ()
    assert comparison.differences == ()
    faster, slower, same = (row(comparison, metric) for metric in ("all streams", "TTFT p50", "TPOT mean"))
    assert [faster.change, slower.change] == pytest.approx([0.5, 0.5])
    assert faster.better is True
    assert slower.better is False
    assert (same.change, same.better) == (0, None)


def test_acceptance_is_made_of_counts() -> None:
    comparison = compare(BEFORE, AFTER)
    length, rate = row(comparison, "acceptance length"), row(comparison, "draft acceptance rate")
    assert (length.before, length.after) == (3.0, 3.5)
    assert (rate.before, rate.after, rate.better) == (0.4, 0.5, True)
    assert comparison.positions == ((0.8, 0.9), (0.6, 0.75), (0.3, 0.5), (0.2, 0.25), (0.1, 0.1))


def test_at_another_k_speed_is_compared_and_acceptance_is_not() -> None:
    at_three = {"rounds": 100, "accepted": 190, "drafted": 300, "per_position": [85, 65, 40], "k": 3}
    comparison = compare(BEFORE, replace(with_conditions(AFTER, k=3), counts=at_three))
    assert comparison.refusals == ()
    assert [str(difference) for difference in comparison.differences] == ["k: 5 -> 3"]
    assert row(comparison, "all streams").change == pytest.approx(0.5)
    for metric in ("acceptance length", "draft acceptance rate"):
        shown = row(comparison, metric)
        assert shown.change is None
        assert shown.before is not None
        assert shown.why_not == "not comparable at another k (5 -> 3)"
    assert comparison.positions == ((0.8, 0.85), (0.6, 0.65), (0.3, 0.4))


def test_where_k_is_not_known_acceptance_is_not_compared() -> None:
    runs = [replace(run, counts={**(run.counts or {}), "k": None}) for run in (BEFORE, AFTER)]
    shown = row(compare(*runs), "acceptance length")
    assert shown.change is None
    assert shown.why_not == "not comparable at another k (unknown -> unknown)"


@pytest.mark.parametrize("name", sorted(PREVENTING))
def test_other_work_is_refused_and_its_numbers_are_still_shown(name: str) -> None:
    comparison = compare(with_conditions(BEFORE, **{name: "one"}), with_conditions(AFTER, **{name: "two"}))
    assert comparison.refusals == (f"other work: {name}: one -> two",)
    assert all(row.change is None and row.better is None for row in comparison.rows)
    assert row(comparison, "all streams").after == 60.0


@pytest.mark.parametrize("name", ["engine", "drafter", "gpu", "driver"])
def test_another_build_or_machine_is_said_and_compared(name: str) -> None:
    comparison = compare(BEFORE, with_conditions(AFTER, **{name: "new"}))
    assert [difference.name for difference in comparison.differences] == [name]
    assert row(comparison, "all streams").change is not None


def test_a_condition_that_only_one_run_knows_is_said() -> None:
    comparison = compare(replace(BEFORE, conditions={}), AFTER)
    assert comparison.refusals == ()
    assert "prompts: unknown -> std-50@1" in [str(difference) for difference in comparison.differences]


def test_another_host_is_said() -> None:
    assert [str(d) for d in compare(BEFORE, replace(AFTER, host="ct130")).differences] == ["host: ct129 -> ct130"]


@pytest.mark.parametrize("which", ["before", "now"])
def test_a_spoilt_run_is_compared_with_nothing(which: str) -> None:
    doubts = (
        {"kind": "text", "message": "loops", "spoils": True},
        {"kind": "unsent", "message": "few", "spoils": False},
    )
    runs = [replace(run, doubts=doubts if name == which else ()) for name, run in (("before", BEFORE), ("now", AFTER))]
    comparison = compare(*runs)
    assert comparison.refusals == (f"the run {which}: loops",)
    assert row(comparison, "all streams").change is None


def test_what_neither_run_has_is_left_out_and_what_one_has_is_shown() -> None:
    comparison = compare(replace(BEFORE, counts=None), replace(AFTER, summary=None))
    assert [(row.metric, row.before is None, row.after is None, row.change) for row in comparison.rows] == [
        ("all streams", False, True, None),
        ("TTFT p50", False, True, None),
        ("TPOT mean", False, True, None),
        ("acceptance length", True, False, None),
        ("draft acceptance rate", True, False, None),
    ]


def test_nothing_before_is_no_base_for_a_change() -> None:
    assert row(compare(replace(BEFORE, summary={"total_tok_s": 0}), AFTER), "all streams").change is None


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.just(10**400) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from(["total_tok_s", "ttft_s", "tpot_s"]), ANYTHING),
    st.dictionaries(st.sampled_from(["rounds", "accepted", "drafted", "per_position", "k"]), ANYTHING),
)
def test_whatever_a_history_holds_can_be_put_side_by_side(
    summary: dict[str, object], counts: dict[str, object]
) -> None:
    comparison = compare(replace(BEFORE, summary=summary, counts=counts), AFTER)
    assert json.dumps(comparison.as_json(), allow_nan=False)


def test_json_says_whether_the_numbers_may_be_compared() -> None:
    assert compare(BEFORE, AFTER).as_json()["comparable"] is True
    assert compare(BEFORE, with_conditions(AFTER, prompts="other")).as_json()["comparable"] is False
