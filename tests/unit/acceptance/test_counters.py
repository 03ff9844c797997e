"""Two readings of /metrics give one exact window, or a reason for none."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.acceptance.counters import delta, per_engine, read
from roles.acceptance.window import Window, faults
from tests.unit.acceptance.cases import load, paths

LABELS = 'engine="{engine}",model_name="m"'


def metrics(rounds: int, accepted: int, *, engine: str = "0", generated: int = 0, start: float | None = 100.0) -> str:
    """An answer of an engine with k=2 whose second position accepts nothing."""
    labels = LABELS.format(engine=engine)
    lines = [
        "# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.",
        "# TYPE vllm:spec_decode_num_drafts_total counter",
        f"vllm:spec_decode_num_drafts_total{{{labels}}} {rounds}.0",
        f"vllm:spec_decode_num_drafts_created{{{labels}}} 1.7959608377851713e+09",
        f"vllm:spec_decode_num_draft_tokens_total{{{labels}}} {2 * rounds}.0",
        f"vllm:spec_decode_num_accepted_tokens_total{{{labels}}} {accepted}.0",
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{labels},position="0"}} {accepted}.0',
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{labels},position="1"}} 0.0',
        f"vllm:generation_tokens_total{{{labels}}} {generated}.0",
    ]
    if start is not None:
        lines.append(f"process_start_time_seconds {start}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", paths("counters"), ids=lambda path: path.stem)
def test_real_counters_give_the_cases_window(path: Path) -> None:
    case = load(path)
    before, after = read(case["before"]), read(case["after"])
    window = delta(before, after)
    assert not after.unread
    assert faults(window) == ()
    if expected := case["window"]:
        assert window == Window(**{**expected, "per_position": tuple(expected["per_position"])}, engine="0")


def test_an_engine_without_speculation_says_so_and_still_counts_tokens() -> None:
    case = load(next(path for path in paths("counters") if path.stem == "no-speculation"))
    window = delta(read(case["before"]), read(case["after"]))
    assert window.acceptance_length is None
    assert window.generated == 4608
    assert "without speculation" in window.doubts[0]


def test_short_drafts_are_counted_by_rounds_and_doubted() -> None:
    case = load(next(path for path in paths("counters") if path.stem == "ngram-short-drafts"))
    window = delta(read(""), read(case["after"]))
    assert (window.rounds, window.drafted, window.k) == (987, 4805, 5)
    assert "shorter than k=5" in window.doubts[0]


def test_time_stamps_of_series_are_not_counts() -> None:
    assert read(metrics(10, 5)).total.rounds == 10


def test_reading_knows_the_gauges() -> None:
    text = (
        'vllm:num_requests_running{engine="0"} 2.0\nvllm:num_requests_waiting{engine="0"} 1.0\n'
        'vllm:kv_cache_usage_perc{engine="0"} 0.25\nvllm:num_preemptions_total{engine="0"} 3.0\n'
    )
    total = read(text).total
    assert (total.running, total.waiting, total.kv_usage, total.preemptions) == (2, 1, 0.25, 3)


@pytest.mark.parametrize("names", [["gpu"], ["kv"], ["gpu", "kv"]])
def test_cache_usage_is_read_under_its_old_and_new_name_and_not_added(names: list[str]) -> None:
    full = {"gpu": "vllm:gpu_cache_usage_perc", "kv": "vllm:kv_cache_usage_perc"}
    text = "".join(f'{full[name]}{{model_name="m"}} 0.5\n' for name in names)
    assert read(text).total.kv_usage == 0.5


def test_engines_are_told_apart_and_added() -> None:
    before = read(metrics(10, 5, engine="0") + metrics(20, 2, engine="1"))
    after = read(metrics(110, 65, engine="0") + metrics(220, 12, engine="1"))
    assert [(w.engine, w.rounds, w.accepted) for w in per_engine(before, after)] == [("0", 100, 60), ("1", 200, 10)]
    both = delta(before, after)
    assert (both.engine, both.rounds, both.accepted, both.per_position) == (None, 300, 70, (70, 0))


def test_engines_keep_their_number_order() -> None:
    text = "".join(metrics(1, 0, engine=str(i)) for i in (10, 9, 2))
    assert [engine.engine for engine in read(text).engines] == ["2", "9", "10"]


def test_a_version_without_engine_labels_is_read() -> None:
    text = metrics(10, 5).replace('engine="0",', "")
    assert [engine.engine for engine in read(text).engines] == [None]
    assert read(text).total.rounds == 10


@pytest.mark.parametrize("start", [100.0, 500.0])
def test_a_restart_starts_the_window_at_zero_and_is_said(start: float) -> None:
    window = delta(read(metrics(50, 20, generated=70)), read(metrics(30, 10, generated=40, start=start)))
    assert (window.rounds, window.accepted, window.generated) == (30, 10, 40)
    assert "restarted" in window.doubts[0]


def test_a_restart_is_seen_by_the_start_time_when_counters_have_overtaken() -> None:
    window = delta(read(metrics(50, 20)), read(metrics(80, 40, start=500.0)))
    assert window.rounds == 80


def test_nothing_between_two_readings_is_said() -> None:
    same = read(metrics(10, 5))
    assert delta(same, same).acceptance_length is None
    assert delta(same, same).doubts == ("no drafts were made between the readings",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is this the engine's /metrics"),
        ("<html>502 Bad Gateway</html>", "is this the engine's /metrics"),
        ("process_start_time_seconds 5.0\n", "--disable-log-stats"),
        ("vllm:spec_decode_num_drafts_total{engine=\n", "not understood"),
        ('vllm:spec_decode_num_drafts_total{engine="0"} NaN\n', "not understood"),
        ('vllm:spec_decode_num_drafts_total{engine="0"} -1\n', "not understood"),
        ('vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="x"} 1\n', "not understood"),
    ],
)
def test_no_data_has_a_reason(text: str, said: str) -> None:
    window = delta(read(""), read(text))
    assert window.acceptance_length is None
    assert said in window.doubts[0]


def test_a_missing_series_is_named_and_not_taken_for_zero() -> None:
    text = "\n".join(line for line in metrics(10, 5).splitlines() if "num_accepted_tokens_total" not in line)
    assert delta(read(""), read(text)).doubts == ("the engine does not count accepted tokens",)


def test_span_is_what_the_reader_measured() -> None:
    window = delta(read(metrics(1, 0), read_at_s=10.0), read(metrics(3, 1), read_at_s=12.5))
    assert window.span_s == pytest.approx(2.5)


@given(st.text() | st.lists(st.sampled_from(metrics(3, 1).splitlines(keepends=True))).map("".join))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    """Property: whatever answers in the engine's place, there is a window with counts of its own or a reason."""
    window = delta(read(text), read(text))
    assert window.rounds or window.doubts


@given(st.text(max_size=40), st.sampled_from(sorted(set(metrics(3, 1).splitlines()))))
def test_a_damaged_line_is_reported_or_harmless(damage: str, line: str) -> None:
    """Property: text put anywhere into a line never raises."""
    for at in (0, len(line) // 2, len(line)):
        read(line[:at] + damage + line[at:])
