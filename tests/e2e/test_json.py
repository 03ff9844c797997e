"""With --json every verb prints exactly one document on stdout, also when it fails; its exit code is the process's."""

import json

import pytest

from tasks import namespace
from tests.e2e.host import CTID, Seen, broken
from tests.e2e.person import HOST, WRONG_CONFIG, Person, Said
from tests.e2e.survival.command import Command
from tests.lab.ground import Lab

DONE = (
    f"deploy --host {HOST}",
    f"plan --host {HOST} --tokens 4",
    f"bench --host {HOST} --prompts 2 --max-tokens 8",
    f"status --host {HOST}",
    f"releases --host {HOST}",
    f"health --host {HOST}",
    f"logs --host {HOST} --lines 3",
    f"inventory.show --host {HOST}",
    "inventory.check",
    f"drafter.check --host {HOST}",
    "destroy --host ct130 --yes",  # there is none
)

FAILED = {
    f"deploy --host {HOST} --tokens none": 2,
    f"deploy --host {HOST} --drafter-config {WRONG_CONFIG}": 1,
    f"rollback --host {HOST} --to nowhere": 2,
    f"bench --host {HOST} --against nowhere": 2,
    f"logs --host {HOST} --follow": 2,
    "inventory.show --host ct192": 2,
    f"drafter.check {WRONG_CONFIG} --repository z-lab/Qwen3.6-27B-DFlash": 1,
}

UNREACHABLE = ("deploy", "rollback", "status", "logs")


def agrees(said: Said) -> None:
    """One document, which gives the process's exit code."""
    assert said.document["exit_code"] == said.code, said.out
    assert said.typed.startswith(said.document["verb"])
    assert "Traceback" not in said.err


def flags(verb: str) -> set[str]:
    """Of a verb: "json", "host", "inventory" ..."""
    return {argument.name for argument in namespace[verb].get_arguments()}


VERBS = sorted(verb for verb in namespace.task_names if "json" in flags(verb) and not verb.startswith("lab."))

WITHOUT_INVENTORY = {
    "tune": "--from nowhere",
    "drafter.infer": "nowhere",
    "bench.compare": "nowhere.json",
    "bench.url": "nowhere",
    "bench.import": "nowhere.json",
}
"""Verbs that need none, and what they cannot find either."""


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_that_there_is_when_it_finds_nothing(person: Person, verb: str) -> None:
    nothing = "--inventory nowhere.yml" if "inventory" in flags(verb) else WITHOUT_INVENTORY[verb]
    said = person.types(f"{verb} {nothing} --json")
    assert said.code == 2, said.all
    agrees(said)


@pytest.mark.parametrize("line", DONE)
def test_a_verb_that_is_done(person: Person, promoted: Seen, line: str) -> None:
    said = person.types(f"{line} --json")
    assert said.code == 0, said.all
    agrees(said)


@pytest.mark.parametrize("line", FAILED)
def test_a_verb_that_fails(person: Person, promoted: Seen, line: str) -> None:
    said = person.types(f"{line} --json")
    assert said.code == FAILED[line], said.all
    agrees(said)


@pytest.mark.parametrize("verb", UNREACHABLE)
def test_a_host_that_cannot_be_reached(lab: Lab, person: Person, promoted: Seen, verb: str) -> None:
    with broken(lab, "ssh-down", ctid=CTID):
        said = person.types(f"{verb} --host {HOST} --json")
    assert said.code == 6
    agrees(said)
    assert said.answer["error"] == "UnreachableError"
    assert said.answer["tries"]


def test_the_error_is_told_to_people_too(lab: Lab, person: Person, promoted: Seen) -> None:
    with broken(lab, "api-down"):
        said = person.types(f"destroy --host {HOST} --yes --json")
    assert said.code == 6
    agrees(said)
    assert said.answer["what"] in said.error


def test_a_group_is_one_document_with_an_answer_a_host(person: Person, promoted: Seen) -> None:
    said = person.types("status --host lab --json")
    agrees(said)
    first, second = said.document["hosts"]
    assert (first["host"], first["exit_code"]) == ("ct129", 0)
    assert (second["host"], second["exit_code"]) == ("ct130", said.code)
    assert said.code != 0


def test_an_interrupted_verb(person: Person, promoted: Seen) -> None:
    bench = Command(
        ("bench", "--host", HOST, "--host", "ct130", "--max-tokens", "4000", "--json"), person.environment()
    )
    bench.until(r"bench +(warm-up|1/)")
    bench.interrupt()
    ended = bench.end()
    document = json.loads(ended.out)
    assert ended.code == document["exit_code"] == 130
    first, second = document["hosts"]
    assert (first["error"], first["exit_code"]) == ("Interrupted", 130)
    assert "nothing was changed" in first["what"]
    assert (second["host"], second["error"], second["exit_code"]) == ("ct130", "NotBegun", None)
    assert "ct130: not begun" in ended.err


def test_the_schema_is_json_without_being_asked(person: Person) -> None:
    assert "properties" in person.types("inventory.schema").document


def test_the_lab_answers_programs_too(lab: Lab, person: Person, promoted: Seen) -> None:
    up = person.types(f"lab.status --folder {lab.layout.folder} --json")
    assert (up.code, up.document["up"]) == (0, True)
    assert HOST in up.document["containers"]
    down = person.types(f"lab.status --folder {person.folder / 'nowhere'} --json")
    assert (down.code, down.document["exit_code"]) == (6, 6)
