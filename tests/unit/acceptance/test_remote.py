"""A log is read where it lies, from where the last reading ended, through both ways of rotating it."""

import gzip
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from roles.acceptance.loglines import read
from roles.acceptance.remote import LogPart, parse, question
from tests.local_shell import LocalShell
from tests.unit.acceptance.test_loglines import printed

NOISE = 'INFO:     10.0.0.1:5000 - "GET /health HTTP/1.1" 200 OK\n'


def look(log: Path, last: LogPart | None = None) -> LogPart:
    inode, offset = (last.inode, last.end) if last else (None, 0)
    answer = LocalShell().run(question(str(log), inode=inode, offset=offset)).stdout
    return parse(answer, inode=inode, offset=offset)


def test_only_lines_that_count_come_over_the_line(tmp_path: Path) -> None:
    log = tmp_path / "it's a log"
    log.write_text(NOISE * 500 + printed(195, [156, 104, 71, 49, 38]) + "\n" + NOISE * 500)
    part = look(log)
    assert len(part.lines) == 1
    assert read(part.lines).windows[0].rounds == 195
    assert part.end == log.stat().st_size


def test_the_next_reading_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    log.write_text(printed(20, [10, 5]) + "\n")
    first = look(log)
    with log.open("a") as file:
        file.write(NOISE + printed(30, [10, 5]) + "\n")
    second = look(log, first)
    assert [window.rounds for window in read(second.lines).windows] == [30]
    assert (second.start, second.rotated) == (first.end, False)
    assert look(log, second).lines == ()


def test_a_line_that_is_still_being_written_is_left_for_the_next_reading(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    whole = printed(20, [10, 5]) + "\n"
    log.write_text(NOISE + whole[:100])
    first = look(log)
    assert first.end == len(NOISE)
    log.write_text(NOISE + whole)
    assert [window.rounds for window in read(look(log, first).lines).windows] == [20]


def test_a_log_that_was_renamed_away_begins_anew(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    log.write_text((NOISE + printed(20, [10, 5]) + "\n") * 3)
    first = look(log)
    log.rename(tmp_path / "serve.log.1")
    log.write_text((NOISE + printed(30, [10, 5]) + "\n") * 9)
    second = look(log, first)
    assert (second.start, second.rotated, len(second.lines)) == (0, True, 9)


def test_a_log_that_was_copied_and_truncated_begins_anew(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    log.write_text((NOISE + printed(20, [10, 5]) + "\n") * 3)
    first = look(log)
    log.write_text(printed(30, [10, 5]) + "\n")
    second = look(log, first)
    assert (second.start, second.rotated, len(second.lines)) == (0, True, 1)


def test_what_was_written_before_a_rename_is_not_lost(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    log.write_text(printed(20, [10, 5]) + "\n")
    first = look(log)
    with log.open("a") as file:
        file.write(printed(30, [10, 5]) + "\n")
    log.rename(tmp_path / "serve.log.1")
    log.write_text(printed(40, [10, 5]) + "\n")
    second = look(log, first)
    assert [window.rounds for window in read(second.lines).windows] == [30, 40]
    assert second.rotated
    assert look(log, second).lines == ()


def test_pieces_that_were_rotated_away_are_read_first_and_in_their_order(tmp_path: Path) -> None:
    log = tmp_path / "it's a log"
    for age, (name, rounds) in enumerate([("", 50), (".1", 40), (".2.gz", 30), ("-20260509.gz", 20)]):
        text = (NOISE + printed(rounds, [10, 5]) + "\n").encode()
        path = tmp_path / f"{log.name}{name}"
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        os.utime(path, (1e9 - age, 1e9 - age))
    (tmp_path / f"{log.name}.swp").write_text(printed(99, [10, 5]))
    part = look(log)
    assert [window.rounds for window in read(part.lines).windows] == [20, 30, 40, 50]
    assert (part.pieces, part.end) == (3, log.stat().st_size)
    assert look(log, part).lines == ()


def test_of_very_many_lines_the_last_come_and_what_the_starts_said(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    start = "INFO 05-09 12:00:00 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: speculative_config=None\n"
    log.write_text(start + (printed(20, [10, 5]) + "\n") * 40_500 + printed(30, [10, 5]) + "\n")
    part = look(log)
    assert (len(part.lines), part.dropped) == (40_001, 502)
    reading = read([part.lines[0], part.lines[-1]])
    assert (reading.versions, reading.windows[0].rounds) == (("0.32.0",), 30)


def test_there_may_be_no_log(tmp_path: Path) -> None:
    assert look(tmp_path / "none") == LogPart(None, 0, 0, False, ())


@given(st.text())
def test_any_answer_is_read_without_an_exception(answer: str) -> None:
    """Property: what is no answer is an absent file."""
    assert parse(answer).inode is None or answer.startswith("specrail-log ")
