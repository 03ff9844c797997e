"""Large logs are searched instead of read, and give the same counts as line by line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.acceptance import scan
from roles.acceptance.bulk import NEEDLE, Batch, Gatherer, batch_of_lines
from roles.acceptance.loglines import LogReader, read
from roles.acceptance.reading import Reading
from roles.acceptance.window import Window, pool
from tests.bench.log_generator import write
from tests.unit.acceptance.printed_logs import log
from tests.unit.acceptance.simulate import FIELD_REPORT_K5, RIGHT_K15
from tests.unit.acceptance.test_loglines import PIECES, printed


def scanned(path: Path) -> Reading:
    reader = LogReader()
    scan.read_file(path, reader)
    return reader.reading()


@pytest.fixture(params=["grep", "no grep"])
def small_is_large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes 64 KiB count as a large log."""
    monkeypatch.setattr(scan, "_SMALL", 64 << 10)
    monkeypatch.setattr(scan, "_HEAD", 32 << 10)
    if request.param == "no grep":
        monkeypatch.setattr("roles.acceptance.scan.shutil.which", lambda name: None)


def counts(reading: Reading) -> tuple[int, int, int, int]:
    window = pool(reading.windows)
    return reading.kept, window.rounds, window.accepted, window.drafted


@pytest.mark.usefixtures("small_is_large")
def test_a_large_log_gives_the_counts_that_were_written(tmp_path: Path) -> None:
    truth = write(tmp_path / "serve.log", 3_000_000, 10)
    reading = scanned(tmp_path / "serve.log")
    assert counts(reading) == (truth["windows"], truth["rounds"], truth["accepted"], truth["drafted"])
    assert reading.versions[0] == "0.20.1"
    assert reading.thrown_out == ()


@pytest.mark.usefixtures("small_is_large")
def test_a_large_log_with_two_k_and_odd_lines_gives_the_counts_of_line_by_line(tmp_path: Path) -> None:
    odd = [printed(20, [10, 5]).replace("Avg Draft acceptance rate: 37.5%", "Avg Draft acceptance rate: 99.0%")] * 3
    odd.append(
        "SpecDecoding metrics: Draft acceptance rate: 42.9%, Mean acceptance length: 3.14, Accepted: 418 tokens, "
        "Drafted: 975 tokens, Per-position acceptance rate: 0.800, 0.533, 0.364, 0.251, 0.195"
    )
    text = log(RIGHT_K15, windows=200) + "\n".join([*odd, ""]).encode() + log(FIELD_REPORT_K5, windows=200, seed=2)
    path = tmp_path / "serve.log"
    path.write_bytes(text)
    slow, fast = read(text.splitlines()), scanned(path)
    assert fast.kept == slow.kept == 401
    assert fast.reasons == slow.reasons
    for k in (5, 15):
        one, other = (pool(w for w in reading.windows if w.k == k) for reading in (slow, fast))
        assert (one.rounds, one.accepted, one.drafted) == (other.rounds, other.accepted, other.drafted)
        assert one.per_position == other.per_position


@pytest.mark.usefixtures("small_is_large")
def test_a_large_log_of_another_engine_is_searched_too(tmp_path: Path) -> None:
    line = "[2026-01-05 20:02:51] Decode batch, #running-req: 1, accept len: 2.36, accept rate: 0.59, #queue-req: 0, \n"
    path = tmp_path / "sglang.log"
    path.write_text(('[2026-01-05 20:02:51] INFO:     10.0.0.1:1 - "GET /health HTTP/1.1" 200 OK\n' * 20 + line) * 300)
    reading = scanned(path)
    assert (reading.engine, reading.kept) == ("SGLang", 300)


@pytest.mark.usefixtures("small_is_large")
def test_the_last_lines_of_a_large_log_say_how_fast_it_is(tmp_path: Path) -> None:
    path = tmp_path / "serve.log"
    path.write_bytes(log(FIELD_REPORT_K5, windows=400))
    last = scanned(path).windows[-1]
    assert last.span_s is not None


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("content", [b"x" * 200_000, bytes(range(256)) * 800, b"\n" * 200_000])
def test_a_large_file_that_is_no_log_says_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert scanned(path).why_nothing in {"no line of an engine in it: is this the engine's log?", "the log is empty"}


def test_memory_does_not_grow_with_the_number_of_windows() -> None:
    reader = LogReader()
    for line in [printed(20, [10, 5]).encode()] * 9000:
        reader.line(1, line)
    reading = reader.reading()
    assert len(reading.seen) <= 4096
    assert counts(reading) == (9000, 180_000, 135_000, 360_000)


def test_memory_does_not_grow_with_sglangs_lines_either() -> None:
    line = b"[2026-01-05 20:02:51] Decode batch, #running-req: 1, accept len: 2.50, accept rate: 0.50, #queue-req: 0"
    reading = read([line] * 20_000)
    window = pool(reading.windows)
    assert len(reading.seen) <= 8192
    assert (reading.kept, window.rounds, window.accepted, window.k) == (20_000, 800_000, 1_200_000, 3)


def test_a_batch_that_is_given_out_when_it_is_large_enough_loses_nothing() -> None:
    gatherer = Gatherer(most_rows=50)
    lines = [printed(20 + i % 7, [10, 5]).encode() + b"\n" for i in range(170)]
    found = [gatherer.block(b"".join(lines[i : i + 10])) for i in range(0, 170, 10)]
    batches = [batch for batch in [*found, gatherer.flush()] if batch is not None]
    assert sum(count for batch in batches for _, count in batch.windows) == 170
    assert gatherer.flush() is None


def test_grep_s_lines_give_exact_sums() -> None:
    rounds = [(20 + i, [10 + i % 9, 5, i % 5]) for i in range(300)]
    batch = batch_of_lines(b"".join(printed(r, c).encode() + b"\n" for r, c in rounds))
    assert batch is not None
    ((window, count),) = batch.windows
    assert (count, batch.odd) == (300, ())
    assert window == Window(
        sum(r for r, _ in rounds),
        sum(sum(c) for _, c in rounds),
        3 * sum(r for r, _ in rounds),
        tuple(sum(c[i] for _, c in rounds) for i in range(3)),
        3,
        source="log",
    )


def batches_of(text: bytes) -> list[Batch]:
    gatherer = Gatherer()
    return [batch for batch in (gatherer.block(text), gatherer.flush(), batch_of_lines(text)) if batch is not None]


@given(st.lists(st.sampled_from(PIECES) | st.sampled_from(["\n", "\0", "9" * 40, printed(9, [4, 1])])).map("".join))
def test_any_text_is_read_in_bulk_without_an_exception(text: str) -> None:
    """Property: what is not a whole spec line is never counted in bulk with figures that contradict each other."""
    for batch in batches_of(text.encode() + b"\n"):
        for window, count in batch.windows:
            assert count > 0
            assert window.accepted <= window.drafted == (window.k or 0) * window.rounds


@given(st.binary())
def test_any_bytes_are_read_in_bulk_without_an_exception(noise: bytes) -> None:
    """Property: bytes around a line never make more windows than there are lines."""
    text = noise + printed(9, [4, 1]).encode() + noise + b"\n"
    for batch in batches_of(text):
        assert sum(count for _, count in batch.windows) <= text.count(NEEDLE)
