"""The history: it keeps and finds runs, and nothing that is wrong with its file stops anybody."""

import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roles.load.history import SCHEMA, History, Run

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
RUN = Run(
    kind="bench",
    host="ct129",
    release="2026-11-29T12-00-00Z-7f3a",
    at=AT,
    conditions={"k": 15, "prompts": "std-50@ee163bc2", "thinking": None},
    summary={"total_tok_s": 61.3, "ttft_s": {"p50": 0.2}},
    counts={"rounds": 195, "accepted": 418, "per_position": [156, 108]},
    doubts=({"kind": "failed", "message": "1 of 50", "spoils": False, "prompts": ["a"]},),
)


class Kept(History):
    """A history whose warnings can be looked at."""

    def __init__(self, path: Path, wait_s: float = 5.0) -> None:
        self.warnings: list[str] = []
        super().__init__(path, warn=self.warnings.append, wait_s=wait_s)


@pytest.fixture
def history(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "state" / "history.sqlite")


def test_a_run_comes_back_as_it_was_kept(history: Kept) -> None:
    kept = history.add(RUN)
    assert kept == replace(RUN, id=1)
    assert history.list() == (kept,)
    assert history.warnings == []


def test_a_gate_without_times_or_speculation_comes_back_too(history: Kept) -> None:
    gate = replace(RUN, kind="gate", summary=None, counts=None, doubts=(), verdict="inconclusive")
    assert history.add(gate) == replace(gate, id=1)
    assert history.list() == (replace(gate, id=1),)


def test_a_run_is_found_by_its_id_whatever_its_host(history: Kept) -> None:
    kept = [history.add(replace(RUN, host=host)) for host in ("ct129", "ct130")]
    assert [history.get(1), history.get(2)] == kept
    assert [history.get(number) for number in (0, 3, -1, 10**30)] == [None] * 4


def test_the_last_run_is_of_this_host_and_kind_and_before_the_time(history: Kept) -> None:
    for minute in (0, 2, 1):  # not in the order of time
        history.add(replace(RUN, release=f"r{minute}", at=AT + timedelta(minutes=minute)))
    history.add(replace(RUN, kind="gate", release="gate", at=AT + timedelta(minutes=8)))
    history.add(replace(RUN, host="ct130", release="other", at=AT + timedelta(minutes=9)))

    def release(run: Run | None) -> str | None:
        return run.release if run else None

    assert release(history.last("ct129", "bench")) == "r2"
    assert release(history.last("ct129", "bench", AT + timedelta(minutes=2))) == "r1"
    assert release(history.last("ct129", "bench", AT)) is None
    assert release(history.last("ct129", "gate")) == "gate"
    assert release(history.last("ct131", "bench")) is None
    assert [run.release for run in history.list("ct129", "bench")] == ["r0", "r1", "r2"]
    assert [run.release for run in history.list(limit=2)] == ["gate", "other"]


def test_times_of_other_zones_are_put_in_order(history: Kept) -> None:
    tokyo = timezone(timedelta(hours=9))
    history.add(replace(RUN, release="later", at=AT + timedelta(hours=1)))
    history.add(replace(RUN, release="earlier", at=AT.astimezone(tokyo)))
    found = history.last("ct129", "bench", (AT + timedelta(minutes=30)).astimezone(tokyo))
    assert found is not None
    assert (found.release, found.at) == ("earlier", AT)


def test_a_time_without_a_zone_is_a_fault(history: Kept) -> None:
    with pytest.raises(ValueError):
        history.add(replace(RUN, at=datetime(2026, 1, 1)))


def test_reading_without_a_file_finds_nothing_and_makes_none(history: Kept) -> None:
    assert history.list() == ()
    assert history.last("ct129", "bench") is None
    assert not history.path.exists()
    assert history.warnings == []


def test_a_file_that_is_deleted_meanwhile_begins_anew(history: Kept) -> None:
    history.add(RUN)
    for path in history.path.parent.iterdir():
        path.unlink()
    assert history.list() == ()
    assert history.add(RUN) == replace(RUN, id=1)
    assert history.warnings == []


def _shred(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage", [lambda path: path.write_bytes(b"no database at all" * 100), _shred], ids=["junk", "shredded"]
)
def test_a_corrupt_file_is_moved_aside_and_a_new_one_begun(history: Kept, damage: object) -> None:
    history.add(RUN)
    assert callable(damage)
    damage(history.path)
    broken = history.path.read_bytes()
    assert history.add(replace(RUN, release="new")) == replace(RUN, release="new", id=1)
    assert [run.release for run in history.list()] == ["new"]
    (aside,) = history.path.parent.glob("history.sqlite.corrupt-*[0-9]")
    assert aside.read_bytes() == broken
    (warning,) = history.warnings
    assert aside.name in warning
    assert "a new history begins" in warning


def test_reading_a_corrupt_file_finds_nothing_and_says_so(history: Kept) -> None:
    history.path.parent.mkdir()
    history.path.write_bytes(b"no database at all" * 100)
    assert history.list() == ()
    assert len(history.warnings) == 1


@settings(max_examples=20)
@given(st.binary(min_size=1, max_size=2000))
def test_no_content_of_the_file_stops_a_run_from_being_kept(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    history = Kept(tmp_path_factory.mktemp("any") / "h")
    history.path.write_bytes(content)
    assert history.add(RUN) == replace(RUN, id=1)


def test_a_locked_file_is_waited_for_a_while_and_left_alone(tmp_path: Path) -> None:
    history = Kept(tmp_path / "h", wait_s=0.05)
    history.add(RUN)
    with closing(sqlite3.connect(history.path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert history.add(RUN) is None
    assert len(history.list()) == 1
    assert history.warnings == [f"{history.path}: database is locked: the result is not kept"]


def test_a_history_of_a_later_version_is_left_alone(history: Kept) -> None:
    history.add(RUN)
    with closing(sqlite3.connect(history.path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    before = history.path.read_bytes()
    assert history.add(RUN) is None
    assert history.list() == ()
    assert history.path.read_bytes() == before
    assert f"is of schema {SCHEMA + 1}, this specrail writes {SCHEMA}: the result is not kept" in history.warnings[0]


def test_a_row_that_cannot_be_read_is_passed_over(history: Kept) -> None:
    for spoil in (
        "UPDATE runs SET conditions = '{oops' WHERE id = ?",
        "UPDATE runs SET at = 'yesterday' WHERE id = ?",
        "UPDATE runs SET kind = 'guess' WHERE id = ?",
        "UPDATE runs SET summary = '[]' WHERE id = ?",
    ):
        kept = history.add(RUN)
        assert kept is not None
        with closing(sqlite3.connect(history.path)) as connection, connection:
            connection.execute(spoil, (kept.id,))
    good = history.add(RUN)
    assert history.list() == (good,)
    assert len(history.warnings) == 4
    assert all("cannot be read, it is passed over" in warning for warning in history.warnings)


def test_a_path_that_cannot_be_a_file_is_said_and_survived(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "history.sqlite"):
        history = Kept(path)
        assert history.add(RUN) is None
        assert history.list() == ()
        assert str(path) in history.warnings[0]
        assert "the result is not kept" in history.warnings[0]


def test_several_that_begin_a_history_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    start = threading.Barrier(4)

    def keep(number: int) -> list[str]:
        history = Kept(tmp_path / "h", wait_s=30)
        start.wait()
        for _ in range(5):
            history.add(replace(RUN, release=f"r{number}"))
        return history.warnings

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(keep, range(4))) == [[], [], [], []]
    assert len(Kept(tmp_path / "h").list()) == 20


def test_warnings_go_to_stderr_unless_told_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    History(tmp_path).add(RUN)
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err.startswith(f"warning: {tmp_path}: ")


def test_what_is_kept_can_be_read_without_specrail(history: Kept) -> None:
    history.add(RUN)
    with closing(sqlite3.connect(history.path)) as connection:
        (conditions,) = connection.execute("SELECT conditions FROM runs").fetchone()
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    assert json.loads(conditions)["k"] == 15
    assert mode == "wal"
