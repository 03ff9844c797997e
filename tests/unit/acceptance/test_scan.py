"""Large logs are searched instead of read, and give the same counts as line by line."""

import gzip
import json
from pathlib import Path

import pytest

from roles.acceptance import blocks, scan
from roles.acceptance.loglines import LogReader, read
from roles.acceptance.reading import Reading
from roles.acceptance.window import pool
from tests.bench.log_generator import write
from tests.unit.acceptance.printed_logs import log
from tests.unit.acceptance.simulate import FIELD_REPORT_K5, RIGHT_K15
from tests.unit.acceptance.test_loglines import printed


def scanned(path: Path) -> Reading:
    reader = LogReader()
    scan.read_file(path, reader)
    return reader.reading()


@pytest.fixture
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes 64 KiB count as a large log, and its blocks small."""
    monkeypatch.setattr(scan, "_SMALL", 64 << 10)
    monkeypatch.setattr(scan, "_HEAD", 32 << 10)
    monkeypatch.setattr(blocks, "_SIZE", 64 << 10)


def unequal(rounds: int) -> str:
    """A spec line of drafts of up to three tokens."""
    counts = [rounds * 2 // 3, rounds // 3, rounds // 7]
    drafted = rounds * 3 - rounds // 5
    rates = ", ".join(f"{count / rounds:.3f}" for count in counts)
    return (
        f"INFO 05-09 12:25:53 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: {1 + sum(counts) / rounds:.2f}, "
        f"Accepted throughput: 1.00 tokens/s, Drafted throughput: 1.00 tokens/s, Accepted: {sum(counts)} tokens, "
        f"Drafted: {drafted} tokens, Per-position acceptance rate: {rates}, "
        f"Avg Draft acceptance rate: {100 * sum(counts) / drafted:.1f}%"
    )


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
def test_a_restart_in_the_middle_of_a_large_log_is_seen(tmp_path: Path) -> None:
    """Another version with another k and method, far behind what is read whole."""
    first = log(RIGHT_K15, windows=1500, version="0.23.0")
    second = log(FIELD_REPORT_K5, windows=1500, version="0.32.0", seed=2)
    path = tmp_path / "serve.log"
    path.write_bytes(first + second)
    reading = scanned(path)
    assert next((one.version, one.window.k) for one in reading.seen if one.version) == ("0.23.0", 15)
    assert {(one.version, one.window.k) for one in reading.seen} == {("0.23.0", 15), ("0.32.0", 5)}
    assert reading.versions == ("0.23.0", "0.32.0")
    assert reading.kept == 3000


@pytest.mark.usefixtures("small_is_large")
def test_a_restart_is_seen_among_lines_full_of_quotes(tmp_path: Path) -> None:
    noise = (
        b"(APIServer pid=7) INFO 05-09 12:00:00 [logger.py:40] Received request 'a': prompt: 'it''s', params: 'x'\n"
        * 3000
    )
    path = tmp_path / "serve.log"
    path.write_bytes(
        log(RIGHT_K15, windows=800, version="0.23.0")
        + noise
        + log(FIELD_REPORT_K5, windows=800, version="0.32.0")
        + noise
    )
    assert scanned(path).versions == ("0.23.0", "0.32.0")


@pytest.mark.usefixtures("small_is_large")
def test_a_restart_without_another_sign_than_line_numbers_is_seen(tmp_path: Path) -> None:
    first, second = (log(FIELD_REPORT_K5, windows=1000, version=version) for version in ("0.23.0", "0.32.0"))
    path = tmp_path / "serve.log"
    path.write_bytes(b"".join(part[part.index(b"\n") + 1 :] for part in (first, second)))
    assert next(one.version for one in scanned(path).seen) == "0.20.0-0.23.0"
    assert [one.version for one in scanned(path).seen][-1] == "0.32.0-0.33.0"


@pytest.mark.usefixtures("small_is_large")
def test_an_ngram_log_is_counted_as_line_by_line(tmp_path: Path) -> None:
    lines = [unequal(rounds) for rounds in range(20, 1500)]
    start = log(FIELD_REPORT_K5, windows=0, method="ngram").decode()
    text = (start + "\n".join(lines) + "\n").encode()
    path = tmp_path / "serve.log"
    path.write_bytes(text)
    slow, fast = read(text.splitlines(keepends=True)), scanned(path)
    assert counts(slow) == counts(fast)
    assert pool(slow.windows).per_position == pool(fast.windows).per_position


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("wrap", ["gzip", "cut gzip", "utf-16", "json", "crlf", "one line"])
def test_a_large_log_in_other_clothes_gives_its_counts(tmp_path: Path, wrap: str) -> None:
    text = log(FIELD_REPORT_K5, windows=600)
    path = tmp_path / "serve.log"
    if wrap == "json":
        text = b"".join(json.dumps({"log": line + "\n"}).encode() + b"\n" for line in text.decode().splitlines())
    elif wrap == "crlf":
        text = text.replace(b"\n", b"\r\n")
    elif wrap == "one line":
        text += b"x" * 300_000
    slow = read(text.splitlines(keepends=True))
    packed = {
        "gzip": gzip.compress(text),
        "utf-16": text.decode().encode("utf-16"),
        "cut gzip": gzip.compress(text)[:-4],
    }
    path.write_bytes(packed.get(wrap, text))
    assert counts(scanned(path)) == counts(slow)
    assert slow.kept == 600


@pytest.mark.usefixtures("small_is_large")
def test_a_large_log_whose_lines_cannot_be_searched_for_is_read(tmp_path: Path) -> None:
    """journalctl writes a coloured message as numbers: no word of it is in the file."""
    lines = log(FIELD_REPORT_K5, windows=150).splitlines()
    path = tmp_path / "journal.json"
    path.write_text("".join(json.dumps({"MESSAGE": list(b"\x1b[32m" + line)}) + "\n" for line in lines))
    assert scanned(path).kept == 150


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
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"x" * 200_000, "no line of an engine in it"),
        (bytes(range(256)) * 800, "no line of an engine in it"),
        (b"\n" * 200_000, "the log is empty"),
    ],
)
def test_a_large_file_that_is_no_log_says_so(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert why in (scanned(path).why_nothing or "")


def test_memory_does_not_grow_with_the_number_of_windows() -> None:
    reader = LogReader()
    for line in [printed(20, [10, 5]).encode()] * 4500:
        reader.line(1, line)
    reading = reader.reading()
    assert len(reading.seen) <= 4096
    assert counts(reading) == (4500, 90_000, 67_500, 180_000)


def test_memory_does_not_grow_with_sglangs_lines_either() -> None:
    line = b"[2026-01-05 20:02:51] Decode batch, #running-req: 1, accept len: 2.50, accept rate: 0.50, #queue-req: 0"
    reading = read([line] * 9000)
    window = pool(reading.windows)
    assert len(reading.seen) <= 8192
    assert (reading.kept, window.rounds, window.accepted, window.k) == (9000, 360_000, 540_000, 3)
