"""The arithmetic of a run, on cases worked out by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.load.arrivals import Arrivals
from roles.load.summary import InFlight, Summary, summarise
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


def test_an_open_loops_times_begin_when_requests_were_due() -> None:
    """Sent half a second late, each answer is half a second later for whoever asked."""
    on_time = load_result([answer(ttft_s=0.2, latency_s=2.0)] * 3, arrivals=Arrivals(1))
    late = load_result([answer(ttft_s=0.2, latency_s=2.0)] * 3, arrivals=Arrivals(1), late_s=0.5)
    before, after = summarise(on_time), summarise(late)
    assert before.late_s is None
    assert after.late_s is not None
    assert (after.late_s.mean, after.late_s.count) == (0.5, 3)
    assert after.ttft_s is not None
    assert after.ttft_s.p50 == 0.7
    assert after.e2e_s is not None
    assert after.e2e_s.p50 == 2.5
    assert after.tpot_s == before.tpot_s


def test_in_flight_is_counted_over_the_run() -> None:
    """Three answers of two seconds, begun a second apart, in ten seconds: 0.6 on average, two at most."""
    found = summarise(load_result([answer(latency_s=2.0)] * 3, wall_s=10)).in_flight
    assert found == InFlight(0.6, 2)


def test_what_a_later_version_adds_is_passed_over() -> None:
    summary = summarise(load_result([answer()]))
    assert Summary.from_json(summary.as_json() | {"of a later version": 3}) == summary


def test_what_is_no_summary_is_refused() -> None:
    with pytest.raises(ValueError):
        Summary.from_json({"wall_s": "long"})


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return round(value, 9) if isinstance(value, float | int) else value
