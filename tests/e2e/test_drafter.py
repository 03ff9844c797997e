"""A drafter whose mask token and layers nobody knows: checked on its host, searched, interrupted, and found.

Each step is a fixture that needs the step before it, so that any test alone has all of the story up to its step.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.host import Seen, base_of, look, serves
from tests.e2e.person import HOST, QUICK, Person, Said
from tests.e2e.survival.command import Command
from tests.lab.ground import Lab

pytestmark = pytest.mark.xdist_group("e2e-drafter")

# A config that somebody wrote by hand, for weights of which nobody says where they are from.
HAND_WRITTEN = {
    **QUICK,
    "hosts.ct129.drafter.repository": None,
    "hosts.ct129.drafter.config": {"dflash_config": {"mask_token_id": 248064}},
}
SEARCH = (
    f"drafter.search --host {HOST} --vary mask_token_id=248063,248064,248070 "
    "--vary 'target_layer_ids=[1,17,33,49,63];[1,16,31,46,61]' --json"
)
RIGHT = {"mask_token_id": 248070, "target_layer_ids": [1, 16, 31, 46, 61]}


@pytest.fixture(scope="module")
def writer(lab: Lab) -> Person:
    lab.reset()
    return Person(lab, lab.layout.folder / "hand-written", HAND_WRITTEN)


@pytest.fixture(scope="module")
def poor(lab: Lab, writer: Person) -> Seen:
    """A promoted release that accepts about a third of what it could."""
    said = writer.types(f"deploy --host {HOST} --allow-drafter-errors")
    assert said.code == 0, said.all
    return look(lab)


@pytest.fixture(scope="module")
def interrupted(lab: Lab, writer: Person, poor: Seen) -> Said:
    """Ctrl-C while the second candidate is being tried."""
    words = SEARCH.replace("'", "").removesuffix(" --json").split()
    command = Command((*words[:5], words[5], words[6]), writer.environment())
    try:
        command.until(r"candidate 2 of 6")
        command.interrupt()
        return command.end()
    finally:
        command.clean_up()


@pytest.fixture(scope="module")
def after_interruption(lab: Lab, interrupted: Said) -> Seen:
    return look(lab)


@pytest.fixture(scope="module")
def found(writer: Person, after_interruption: Seen) -> Said:
    """The same command again."""
    return writer.types(SEARCH)


def config_of(lab: Lab, release: str | None) -> dict[str, Any]:
    text = Path(base_of(lab) / "releases" / str(release) / "drafter" / "config.json").read_text()
    config: dict[str, Any] = json.loads(text)
    return config


def test_check_reads_the_hosts_folders_and_ends_with_1(writer: Person, poor: Seen) -> None:
    said = writer.types(f"drafter --host {HOST} --json")
    assert said.code == 1
    assert said.answer["ok"] is False
    (wrong,) = [one for one in said.answer["findings"] if one["severity"] == "error"]
    assert (wrong["field"], wrong["expected"]) == ("dflash_config.mask_token_id", 248070)
    assert "weights" not in {one["field"] for one in said.answer["unknowable"]}
    assert look_again(writer, "--sarif")["runs"][0]["results"][0]["level"] == "error"


def test_check_says_what_a_deploy_would_change(writer: Person, poor: Seen, tmp_path: Path) -> None:
    (tmp_path / "right.json").write_text(json.dumps({"dflash_config": {"mask_token_id": 248070}}))
    assert writer.types(f"drafter --host {HOST} --json").answer["changes"] == []
    said = writer.types(f"drafter --host {HOST} --drafter-config {tmp_path / 'right.json'}")
    assert said.code == 0
    assert "dflash_config.mask_token_id: 248064 -> 248070" in said.out


def look_again(writer: Person, form: str) -> dict[str, Any]:
    return writer.types(f"drafter --host {HOST} {form}").document


def test_cost_is_told_and_nothing_is_done_in_a_dry_run(lab: Lab, writer: Person, poor: Seen) -> None:
    before = look(lab)
    said = writer.types(SEARCH.replace("--json", "--dry-run"))
    assert said.code == 0
    assert "at most 7 restarts, of about" in said.out
    assert look(lab) == before


def test_ctrl_c_sends_the_host_back_at_once(interrupted: Said, after_interruption: Seen, poor: Seen) -> None:
    assert interrupted.code == 130
    assert "the same command goes on with the search" in interrupted.all
    assert after_interruption.current == after_interruption.promoted == poor.promoted


def test_second_start_goes_on_where_the_first_was(found: Said) -> None:
    assert "1 more are measured already" in found.err
    assert "candidate 1 of 6" not in found.err
    assert "candidate 2 of 6" in found.err


def test_right_mask_token_and_layers_are_found_in_one_command(lab: Lab, found: Said) -> None:
    assert found.code == 0, found.all
    assert found.answer["best"]["overlay"] == {"dflash_config": RIGHT}
    seen = look(lab)
    assert seen.settled
    assert serves(lab)
    assert RIGHT.items() <= config_of(lab, seen.promoted)["dflash_config"].items()


def test_no_loser_cost_sixty_rounds_and_some_cost_none(found: Said) -> None:
    ranking, untried = found.answer["ranking"], found.answer["not_tried"]
    assert len(ranking) + len(untried) == 6
    assert all(row["rounds"] < 60 for row in ranking[1:])
    assert {one["choice"]["dflash_config.mask_token_id"] for one in untried} <= {"248063", "248064"}


def test_ranking_has_intervals_and_is_led_by_the_best(found: Said) -> None:
    lengths = [row["acceptance_length"] for row in found.answer["ranking"]]
    assert all(one["low"] <= one["estimate"] <= one["high"] for one in lengths)
    assert found.answer["ranking"][0]["choice"]["dflash_config.mask_token_id"] == "248070"


def test_search_that_ended_leaves_nothing_to_go_on_with(writer: Person, found: Said) -> None:
    assert not list(writer.state.glob("search-*"))


def test_wrong_search_is_wrong_usage_and_changes_nothing(lab: Lab, writer: Person, found: Said) -> None:
    before = look(lab)
    said = writer.types(f"drafter.search --host {HOST} --vary mask_token_id=5")
    assert said.code == 2
    assert "at least two values" in said.err
    assert look(lab) == before


@pytest.mark.parametrize(
    ("vary", "says"),
    [
        ("maks_token_id=1,2", "--vary mask_token_id=1,2"),
        ("mask_token_id=248064,abc --dry-run", "'abc' is not a whole number"),
    ],
)
def test_search_in_what_no_engine_can_use_is_refused_before_any_start(
    lab: Lab, writer: Person, found: Said, vary: str, says: str
) -> None:
    before = look(lab)
    said = writer.types(f"drafter.search --host {HOST} --vary {vary}")
    assert said.code == 2
    assert says in said.err
    assert look(lab) == before


def test_candidates_that_cannot_be_told_apart_end_on_the_release_before(lab: Lab, writer: Person, found: Said) -> None:
    before = look(lab)
    said = writer.types(f"drafter.search --host {HOST} --vary max_window_layers=5,6 --allow-drafter-errors --json")
    assert said.code == 4, said.all
    assert said.answer["best"] is None
    assert len(said.answer["level"]) == 2
    assert said.answer["in_service"].startswith(f"reverted to {before.promoted}, which answers")
    after = look(lab)
    assert (after.current, after.promoted, after.settled) == (before.promoted, before.promoted, True)


def test_search_in_which_all_fail_ends_on_the_release_before(lab: Lab, writer: Person, found: Said) -> None:
    before = look(lab)
    vary = "'target_layer_ids=[1,16,31,46,98];[1,16,31,46,99]'"
    said = writer.types(f"drafter.search --host {HOST} --vary {vary} --allow-drafter-errors --json")
    assert said.code == 1
    assert said.answer["best"] is None
    assert all(row["failure"] for row in said.answer["ranking"])
    assert said.answer["in_service"].startswith(f"reverted to {before.promoted}, which answers")
    after = look(lab)
    assert (after.current, after.promoted, after.settled) == (before.promoted, before.promoted, True)


def test_error_that_no_search_mends_is_refused_before_any_restart(lab: Lab, writer: Person, found: Said) -> None:
    inventory = writer.writes(
        "other-error.yml", HAND_WRITTEN | {"hosts.ct129.drafter.config": {"layer_types": ["full_attention"]}}
    )
    before = look(lab)
    said = writer.types(f"drafter.search --host {HOST} --vary mask_token_id=248064,248070", inventory=inventory)
    assert said.code == 1
    assert "layer_types: 1 are listed for 5 layers" in said.all
    assert look(lab) == before


def test_help_of_each_form_is_there(writer: Person) -> None:
    for verb in ("drafter", "drafter.infer", "drafter.search"):
        said = writer.types(f"{verb} --help")
        assert said.code == 0
        assert "Example" in said.out
