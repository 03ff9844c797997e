"""Words that name runs."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import UsageError
from roles.load.history import History
from roles.load.named import keep, named
from tests.unit.load.test_compare import AFTER, BEFORE
from tests.unit.load.test_results import VLLM


@pytest.fixture
def history(tmp_path: Path) -> History:
    """1: bench r1 of ct129, 2: bench r2, 3: gate of r2, 4: bench r2 of ct130, the latest."""
    made = History(tmp_path / "history.sqlite3")
    later = [BEFORE.at + timedelta(hours=hours) for hours in range(4)]
    made.add(BEFORE)
    made.add(replace(AFTER, at=later[1]))
    made.add(replace(AFTER, kind="gate", at=later[2]))
    made.add(replace(AFTER, host="ct130", at=later[3]))
    return made


@pytest.mark.parametrize(
    ("word", "host", "number"),
    [
        ("2", None, 2),
        ("#3", None, 3),
        ("last", None, 4),
        ("last-1", None, 2),
        ("last", "ct129", 2),
        ("last-1", "ct129", 1),
        ("r1", None, 1),
        ("r2", "ct129", 2),  # the bench, not the gate after it
        ("r2", None, 4),
    ],
)
def test_a_word_is_one_run(word: str, host: str | None, number: int, history: History) -> None:
    assert [run.id for run in named(word, history, host)] == [number]


def test_a_file_is_its_results_or_one_of_them(history: History, tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    path.write_text("\n".join(json.dumps({**VLLM, "output_throughput": speed}) for speed in (50, 60)))
    speeds = [[(run.summary or {})["total_tok_s"] for run in named(word, history)] for word in (f"{path}", f"{path}#2")]
    assert speeds == [[50, 60], [60]]
    assert [run.host for run in named(f"{path}", history)] == ["elsewhere"] * 2


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("9", "no run 9"),
        ("last-9", "only 3 in the history"),
        ("r9", "no release in it"),
        ("missing.json", "No such file"),
        ("", "is no run"),
    ],
)
def test_what_is_not_there_is_said(word: str, said: str, history: History) -> None:
    with pytest.raises(UsageError, match=said):
        named(word, history)


@given(
    st.text() | st.just("a" * 300) | st.just("\0") | st.from_regex(r"(#|last-?)?[0-9]{1,25}(#[0-9]+)?", fullmatch=True)
)
def test_any_word_is_a_run_or_refused_in_words(word: str) -> None:
    """Property: whatever is typed, nothing but UsageError comes out of an empty history."""
    with TemporaryDirectory() as folder, suppress(UsageError):
        assert named(word, History(Path(folder) / "history.sqlite3"))


def test_a_place_that_a_file_does_not_have_is_said(history: History, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(VLLM))
    with pytest.raises(UsageError, match=r"holds 1 result$"):
        named(f"{path}#2", history)


def test_a_file_is_kept_once_and_again_where_other_things_are_told_about_it(history: History, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(VLLM))
    runs = named(f"{path}", history, "ct129")
    (first,), new = keep(runs, history)
    (second,), again = keep(runs, history)
    assert (first.id, new) == (5, 1)
    assert (second.id, again) == (5, 0)
    told = tuple(replace(run, conditions={**run.conditions, "engine": "sglang 0.5.23"}) for run in runs)
    assert keep(told, history)[1] == 1


def test_what_comes_out_of_the_history_is_not_put_into_it_again(history: History) -> None:
    runs = named("2", history)
    assert keep(runs, history) == (runs, 0)
    assert len(history.list()) == 4


def test_who_names_a_run_that_was_never_made_is_shown_those_that_were(history: History) -> None:
    with pytest.raises(UsageError) as caught:
        named("last-9", history)
    assert caught.value.tries[0] == "invoke history --all"
