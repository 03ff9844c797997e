"""The arithmetic of a run, on cases worked out by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.load.summary import Summary, summarise
from tests.unit.load.samples import answer, load_result

CASES = sorted((Path(__file__).parents[2] / "cases" / "load").glob("summary-*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_run_adds_up_as_worked_out_by_hand(path: Path) -> None:
    case = json.loads(path.read_text())
    result = load_result(
        [answer(**one) for one in case["answers"]], wall_s=case["wall_s"], unsent=case.get("unsent", 0)
    )
    summary = summarise(result).as_json()
    for name, expected in case["summary"].items():
        assert _rounded(summary[name]) == _rounded(expected), f"{name}: {case['why']}"


@given(
    st.lists(
        st.builds(
            answer,
            tokens=st.none() | st.integers(0, 500),
            ttft_s=st.none() | st.floats(0, 1),
            latency_s=st.floats(1, 10),
            arrivals_s=st.lists(st.floats(0, 10), max_size=5).map(sorted),
            error=st.none() | st.sampled_from(["cut", "timeout"]),
        ),
        max_size=10,
    )
)
def test_any_run_is_summarised_and_comes_back_from_json(answers: list[Any]) -> None:
    """No run makes it raise, percentiles are ordered, and JSON loses nothing."""
    summary = summarise(load_result(answers))
    assert summary.requests_ok + sum(summary.requests_failed.values()) == len(answers)
    for spread in (summary.ttft_s, summary.tpot_s, summary.itl_s, summary.e2e_s):
        assert spread is None or 0 <= spread.p50 <= spread.p90 <= spread.p99
    assert Summary.from_json(json.loads(json.dumps(summary.as_json()))) == summary


def test_what_a_later_version_adds_is_passed_over() -> None:
    summary = summarise(load_result([answer()]))
    assert Summary.from_json(summary.as_json() | {"goodput": 3}) == summary


def test_what_is_no_summary_is_refused() -> None:
    with pytest.raises(ValueError):
        Summary.from_json({"wall_s": "long"})


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return round(value, 9) if isinstance(value, float | int) else value
