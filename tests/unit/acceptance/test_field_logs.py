"""Logs and texts from public reports, whole as they were pasted, each with its right answer."""

import json
from pathlib import Path
from typing import Any

import pytest

from roles.acceptance.loglines import read
from roles.acceptance.reading import Reading
from roles.acceptance.summary import Summary, summarise

_ROOT = Path(__file__).parents[2] / "cases" / "acceptance" / "field"


def opened(number: str) -> tuple[Reading, Summary, dict[str, Any]]:
    (folder,) = _ROOT.glob(f"{number}-*")
    (evidence,) = (path for path in folder.iterdir() if path.name != "right.json")
    reading = read(evidence.read_bytes().splitlines())
    right: dict[str, Any] = json.loads((folder / "right.json").read_text())["right"]
    return reading, summarise(reading), right


@pytest.mark.parametrize("number", ["01", "03", "07", "11", "15", "19", "23"])
def test_counts_are_the_reports(number: str) -> None:
    reading, summary, right = opened(number)
    named = {"rounds": summary.rounds, "accepted": summary.accepted, "drafted": summary.drafted, "k": summary.k}
    assert named == {name: right.get(name) for name in named}
    assert summary.length == pytest.approx(right["acceptance_length"], abs=5e-5)
    assert summary.window.acceptance_rate == pytest.approx(right["draft_acceptance_rate"], abs=5e-6)
    for window, expected in zip(
        reading.windows, right.get("per_window") or right.get("per_request") or [], strict=False
    ):
        assert {"accepted": window.accepted, "drafted": window.drafted, "rounds": window.rounds} == {
            name: expected[name] for name in ("accepted", "drafted", "rounds")
        }
    assert len(reading.windows) == right.get("windows", len(reading.windows))


def test_first_window_of_a_log_is_as_long_as_its_throughput_says() -> None:
    reading, _, right = opened("01")
    assert reading.seen[0].since_last_s == pytest.approx(right["first_window_seconds"], abs=0.05)
    assert reading.seen[0].at == "04-19 15:36:42"  # the engine's clock, not the wrapper's
    assert reading.versions == ("0.20.0-0.23.0",)


def test_gaps_that_equal_the_windows_show_that_no_line_is_missing() -> None:
    reading, _, right = opened("03")
    assert [round(one.since_last_s or 0) for one in reading.seen] == right["window_seconds"]
    assert [(line.number, line.reason) for line in reading.thrown_out] == [(4, "the line is cut")]


def test_a_rate_without_rounds_gets_no_length() -> None:
    reading, summary, right = opened("05")
    assert (summary.accepted, summary.drafted) == (right["accepted"], right["drafted"])
    assert (summary.rounds, summary.k, summary.length) == (None, None, None)
    assert reading.engine == "llama.cpp"
    assert f"{right['derivable']['target_passes']} passes" in (reading.why_nothing or "")


def test_cumulative_lines_are_not_added() -> None:
    reading, summary, right = opened("09")
    last, between = right["cumulative_last"], right["window_delta"]
    assert (summary.rounds, summary.accepted, summary.drafted) == (last["rounds"], last["accepted"], last["drafted"])
    assert summary.window.emitted == last["emitted"]
    assert (reading.windows[1].rounds, reading.windows[1].drafted) == (between["rounds"], between["drafted"])


def test_statistics_of_another_time_give_no_speed() -> None:
    """The Rust frontend's statistics line is ten seconds older than the drafts."""
    reading, summary, _ = opened("11")
    assert [window.span_s for window in reading.windows] == [None, None]
    assert summary.accepted_per_s is None


def test_means_without_counts_are_not_averaged() -> None:
    reading, summary, right = opened("13")
    assert reading.windows == ()
    assert [fragment.length for fragment in reading.fragments] == [2.73, 2.50, 4.62]
    assert (summary.k, summary.rounds, summary.length) == (right["k"], None, None)
    assert any("0.5.11 and later" in note for note in reading.notes)


def test_what_another_rank_repeats_is_thrown_out() -> None:
    reading, _, _ = opened("15")
    assert [(line.number, "repeats" in line.reason) for line in reading.thrown_out] == [(2, True)]


def test_totals_that_a_paste_lacks_are_unknown_and_not_zero() -> None:
    reading, summary, right = opened("17")
    assert summary.rounds == right["rounds"]
    assert (summary.accepted, summary.drafted, summary.length) == (None, None, None)
    assert "no totals of drafted, accepted" in (reading.why_nothing or "")
    assert "7 of 22 rounds" in (reading.why_nothing or "")


def test_one_window_behind_nine_wrappers_is_read_nine_times_and_said() -> None:
    reading, _, right = opened("21")
    assert len(reading.windows) == right["lines"]
    assert {(w.accepted, w.drafted, w.rounds, w.k) for w in reading.windows} == {(912, 1629, 543, 3)}
    assert any("9 lines of 07-04 04:42:09 have the same figures" in note for note in reading.notes)


def test_the_position_that_a_benchmark_does_not_list_is_what_the_others_leave() -> None:
    _, summary, right = opened("23")
    assert summary.window.per_position_rates[5] == pytest.approx(right["missing_position_5"], abs=0.001)
    assert any("position 5 is not listed" in doubt for doubt in summary.window.doubts)


def test_answers_timings_are_read_request_by_request() -> None:
    reading, _, right = opened("25")
    for fragment, run in zip(reading.fragments, (right["run1"], right["run2"]), strict=True):
        assert (fragment.accepted, fragment.drafted) == (run["accepted"], run["drafted"])
        assert f"{run['target_passes']} passes" in fragment.said
