"""What a search keeps between two starts, what it says it costs, and how it tells its end."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from inventory.errors import SpecrailError
from playbooks.search_outcome import SearchOutcome, cost
from playbooks.search_state import Measured, SearchState, key_of
from roles.acceptance.race import Runner, beaten_values
from roles.acceptance.window import PromptWindow, Window
from roles.drafter.vary import combinations, read

CANDIDATES = combinations(read(["mask_token_id=70,63,64", "target_layer_ids=[1];[2]"], {}))
GOOD = tuple(PromptWindow(f"p{i}", Window(8, 14, 40, (7, 5, 2, 0, 0), 5)) for i in range(7))
BAD = tuple(PromptWindow(f"p{i}", Window(8, 1, 40, (1, 0, 0, 0, 0), 5)) for i in range(7))

WORSE = tuple(PromptWindow(f"p{i}", Window(8, 4, 40, (4, 0, 0, 0, 0), 5)) for i in range(7))


def outcome(*measured: tuple[PromptWindow, ...] | str, **more: object) -> SearchOutcome:
    runners = tuple(
        Runner(candidate.choice, (), one) if isinstance(one, str) else Runner(candidate.choice, one)
        for candidate, one in zip(CANDIDATES, measured, strict=False)
    )
    return SearchOutcome("ct129", CANDIDATES, runners, beaten_values(runners, 0.95), 0.95, "some", **more)  # type: ignore[arg-type]


def test_what_was_measured_is_found_again_by_the_same_search_only(tmp_path: Path) -> None:
    measured = Measured(CANDIDATES[0].choice, "2026-r", GOOD, None, 2.5)
    SearchState(tmp_path, "ct129", "a").save([measured])
    assert SearchState(tmp_path, "ct129", "a").load() == (measured,)
    assert SearchState(tmp_path, "ct129", "b").load() == ()
    assert SearchState(tmp_path, "ct130", "a").load() == ()
    SearchState(tmp_path, "ct129", "a").forget()
    assert SearchState(tmp_path, "ct129", "a").load() == ()
    SearchState(tmp_path, "ct129", "a").forget()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "a", "measured": [1]}'])
def test_file_that_cannot_be_read_starts_anew(text: str, tmp_path: Path) -> None:
    (tmp_path / "search-ct129.json").write_text(text)
    assert SearchState(tmp_path, "ct129", "a").load() == ()


def test_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(SpecrailError, match="No such file or directory"):
        SearchState(tmp_path / "gone", "ct129", "a").save([])


def test_key_depends_on_content_and_not_on_the_order_of_keys() -> None:
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1}) != key_of({"a": 2, "b": 2})


def test_cost_is_restarts_times_the_time_of_a_start() -> None:
    assert cost(CANDIDATES, 0, 95, 58) == (
        "6 candidates and the best of them once more: at most 7 restarts, of about 95 s each, 11 min in all; "
        "at most 58 rounds on each"
    )
    assert "5 candidates" in cost(CANDIDATES, 1, 2, 58)
    assert "1 more are measured already" in cost(CANDIDATES, 1, 2, 58)
    assert "not known yet" in cost(CANDIDATES, 0, None, 58)


def test_ranking_says_who_won_who_lost_and_what_was_not_tried() -> None:
    told = outcome(GOOD, BAD, "died at the first request", WORSE).render()
    lines = told.splitlines()
    assert lines[0] == "search · ct129 · 4 of 6 candidates measured"
    assert "mask_token_id 70, target_layer_ids [1]" in lines[1]
    assert lines[1].endswith("  best")
    assert "beaten" in lines[2]
    assert "beaten" in lines[3]
    assert "failed: died at the first request" in lines[4]
    assert "not tried: mask_token_id 70 beat 63 with all else equal" in told


def test_candidates_that_cannot_be_told_apart_have_no_best() -> None:
    ended = outcome(GOOD, BAD, "died", GOOD, in_service="reverted to r, which answers")
    lines = ended.render().splitlines()
    assert ended.best is None
    assert ended.exit_code == 4
    assert [line.split("  ")[-1] for line in lines[1:3]] == ["cannot be told from the others at the top"] * 2
    assert "2 candidates cannot be told apart: none of them is kept" in lines[-3]
    assert "reverted to r, which answers" in lines[-2]
    assert "--rounds" in lines[-1]
    assert "inventory" not in ended.render()
    assert ended.as_json()["level"] == [CANDIDATES[0].label, CANDIDATES[3].label]


def test_what_the_check_says_settles_what_rounds_do_not() -> None:
    doubtful = replace(outcome(GOOD).runners[0], choice=CANDIDATES[3].choice, doubts=1)
    ended = replace(outcome(GOOD), runners=(doubtful, *outcome(GOOD).runners))
    assert ended.best is CANDIDATES[0]
    assert "best, by what the check says against the others" in ended.render()
    assert "cannot be told from the best in so few rounds" in ended.render()


def test_without_one_that_could_be_measured_there_is_no_best() -> None:
    ended = outcome("died", in_service="reverted to r")
    assert ended.best is None
    assert ended.exit_code == 1
    assert "reverted to r" in ended.render()


def test_programs_get_the_ranking_and_the_best(tmp_path: Path) -> None:
    document = json.loads(json.dumps(outcome(GOOD, BAD).as_json()))
    assert document["best"]["overlay"] == {"dflash_config": {"mask_token_id": 70, "target_layer_ids": [1]}}
    assert [row["rounds"] for row in document["ranking"]] == [56, 56]
    assert document["ranking"][0]["acceptance_length"]["estimate"] == 2.75
    assert document["not_tried"][0]["because"].startswith("mask_token_id 70 beat 63")


def test_dry_run_lists_the_candidates_and_changes_nothing() -> None:
    told = outcome(dry_run=True).render()
    assert told.count("mask_token_id") == 6
    assert told.endswith("nothing was changed")
    assert outcome(dry_run=True).exit_code == 0
