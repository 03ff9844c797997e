"""A log gives exact windows, says what it threw out, and why there is nothing."""

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roles.acceptance.loglines import read
from roles.acceptance.window import faults, pool
from tests.unit.acceptance.cases import load, paths

LINE = (
    "(APIServer pid=1) INFO 05-09 12:25:53 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: {length:.2f}, "
    "Accepted throughput: 1.00 tokens/s, Drafted throughput: 1.00 tokens/s, Accepted: {accepted} tokens, "
    "Drafted: {drafted} tokens, Per-position acceptance rate: {rates}, Avg Draft acceptance rate: {rate:.1f}%"
)


def printed(rounds: int, counts: list[int]) -> str:
    """The line as vLLM 0.10.2-0.33 prints it for these counts."""
    accepted, drafted = sum(counts), rounds * len(counts)
    return LINE.format(
        length=1 + accepted / rounds,
        accepted=accepted,
        drafted=drafted,
        rates=", ".join(f"{count / rounds:.3f}" for count in counts),
        rate=100 * accepted / drafted,
    )


@st.composite
def rounds_and_counts(draw: st.DrawFn, most: int) -> tuple[int, list[int]]:
    rounds = draw(st.integers(1, most))
    counts: list[int] = []
    for _ in range(draw(st.integers(1, 16))):
        counts.append(draw(st.integers(0, counts[-1] if counts else rounds)))
    return rounds, counts


@pytest.mark.parametrize("path", paths("log"), ids=lambda path: path.stem)
def test_log_is_read_as_the_case_says(path: Path) -> None:
    case = load(path)
    reading = read(case["log"].encode().splitlines())
    assert len(reading.windows) == case["windows"]
    thrown_out = [line.reason for line in reading.thrown_out]
    assert len(thrown_out) == len(case.get("thrown_out", []))
    assert all(said in reason for said, reason in zip(case.get("thrown_out", []), thrown_out, strict=True))
    if not case["windows"]:
        assert case["why"] in (reading.why_nothing or "")
        return
    assert reading.why_nothing is None
    assert not any(faults(window) for window in reading.windows)
    pooled = pool(reading.windows)
    assert {key: getattr(pooled, key) for key in case["pooled"]} == case["pooled"]
    assert {window.source for window in reading.windows} <= {"log", "counters"}
    if "engine" in case:
        assert {window.engine for window in reading.windows} == {case["engine"]}
    if "engines" in case:
        assert [window.engine for window in reading.windows] == case["engines"]
    if "span_s" in case:
        assert pooled.span_s == pytest.approx(case["span_s"], rel=1e-3)
    if "per_position" in case:
        spread = sum(1 + window.rounds // 500 for window in reading.windows if window.rounds >= 1000)
        assert all(abs(a - b) <= spread for a, b in zip(pooled.per_position, case["per_position"], strict=True))


def test_accepted_tokens_a_second_come_from_the_stats_line() -> None:
    """The spec line's own "15.90 tokens/s" counts idle time; 418 tokens took ten seconds."""
    case = load(next(path for path in paths("log") if path.stem == "field-report-line"))
    (window,) = read(case["log"].encode().splitlines()).windows
    assert window.span_s is not None
    assert window.accepted / window.span_s == pytest.approx(41.8, abs=0.05)


@given(rounds_and_counts(most=999))
def test_counts_below_a_thousand_rounds_are_recovered_exactly(drawn: tuple[int, list[int]]) -> None:
    """Property: what vLLM printed with two and three digits comes back as the counts that it was printed from."""
    rounds, counts = drawn
    (window,) = read([printed(rounds, counts).encode()]).windows
    assert (window.rounds, window.per_position, window.doubts) == (rounds, tuple(counts), ())


@given(rounds_and_counts(most=200_000))
def test_larger_counts_are_off_by_no_more_than_they_say(drawn: tuple[int, list[int]]) -> None:
    """Property: rounds, accepted and drafted stay exact; positions stay within the digits and add up."""
    rounds, counts = drawn
    (window,) = read([printed(rounds, counts).encode()]).windows
    assert (window.rounds, window.accepted, window.drafted) == (rounds, sum(counts), rounds * len(counts))
    assert faults(window) == ()
    assert all(abs(a - b) <= 1 + rounds / 990 for a, b in zip(window.per_position, counts, strict=True))


@pytest.mark.parametrize(
    "front", ["", "2026-07-04T04:42:09.1Z stderr F ", "vllm  | ", "\x1b[32m", "]: [1;36m", "\ufffd\ufffd("]
)
def test_any_prefix_may_stand_in_front(front: str) -> None:
    assert len(read([(front + printed(20, [10, 5])).encode()]).windows) == 1


def test_line_that_is_cut_anywhere_is_never_counted() -> None:
    whole = printed(195, [156, 104, 71, 49, 38]).encode()
    for end in range(len(whole) - 1):
        assert read([whole[:end]]).windows == ()


@given(st.binary() | st.lists(st.sampled_from(printed(9, [4, 1]).encode().split(b" "))).map(b" ".join))
@example(b"\xff\xfeSpecDecoding metrics:")
@example(b"Accepted: 1 tokens, Drafted: 1 tokens, Per-position acceptance rate: nan")
def test_any_bytes_are_read_without_an_exception(log: bytes) -> None:
    """Property: every reading has windows or a reason, and its windows hold their identities."""
    reading = read(log.splitlines())
    assert bool(reading.windows) == (reading.why_nothing is None)
    assert not any(faults(window) for window in reading.windows)


PIECES = [piece for path in paths("log") for piece in re.split(r"(?<=[ ,=:{\"])", load(path)["log"][:4000])]


@given(
    st.lists(st.sampled_from(PIECES) | st.sampled_from(["\n", "\r", "\0", "9" * 40, "-1", "nan", "\x1b["])).map("".join)
)
def test_pieces_of_real_lines_in_any_order_are_read_without_an_exception(log: str) -> None:
    """Property: as above, for what looks like every engine's lines and is none."""
    reading = read(log.encode().splitlines())
    assert bool(reading.windows) == (reading.why_nothing is None)
    assert not any(faults(window) for window in reading.windows)


@given(st.binary(max_size=12), st.integers(0, 400))
def test_damage_in_a_line_gives_other_counts_only_if_they_agree(damage: bytes, at: int) -> None:
    """Property: bytes put anywhere into a line never make a window that contradicts itself."""
    line = printed(195, [156, 104, 71, 49, 38]).encode()
    reading = read((line[:at] + damage + line[at:]).splitlines())
    assert not any(faults(window) for window in reading.windows)
