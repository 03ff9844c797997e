"""Measurements that are named, put side by side, saved and taken in again, as a person does it."""

from pathlib import Path

from tests.e2e.host import Seen
from tests.e2e.person import HOST, Person

_BENCH = f"bench --host {HOST} --prompts 4 --max-tokens 8"


def test_what_was_measured_has_a_number_and_can_be_compared(person: Person, promoted: Seen, tmp_path: Path) -> None:
    saved, page = tmp_path / "saved.json", tmp_path / "page.html"
    assert person.types(f"{_BENCH} --save {saved}").code == 0
    assert person.types(f"{_BENCH} --concurrency 2").code == 0

    listed = person.types(f"history --host {HOST} --json").answer["runs"]
    one, other = (run["id"] for run in listed[-2:])
    said = person.types(f"bench.compare {one} {other} --html {page}")
    assert said.code == 0, said.all
    assert "2 against 1: not comparable:" in said.all
    assert "concurrency: 1 -> 2" in said.all
    assert "Across engines" not in page.read_text(encoding="utf-8")
    assert person.types("bench.compare last-1 last").out == said.out

    same = person.types(f"bench.compare {one} {saved}").out  # eight tokens are too few to say more than the numbers
    kept, read = next(line.split()[-2:] for line in same.splitlines() if line.startswith("  acceptance length"))
    assert kept == read != "-"

    known = person.types(f"bench.import {saved} --host elsewhere")
    assert known.out.startswith(f"0 new in the history, 1 was there already: run {one} of {HOST}\n"), known.all
    taken = person.types(f"bench.import {saved} --host elsewhere --set gpu=H200 --json").document
    assert taken["new"] == 1
    assert taken["runs"][0]["conditions"]["gpu"] == "H200"
    assert f"{taken['runs'][0]['id']} " in person.types("history --all").out


def test_what_is_not_there_changes_nothing_and_says_how_it_is_named(person: Person, promoted: Seen) -> None:
    before = person.types("history --all --json").document["runs"]
    for wrong in ("bench.compare last nowhere", "bench.compare last", "bench.import nowhere.json", "bench.url ftp://x"):
        said = person.types(wrong)
        assert said.code == 2, said.all
        assert "Try:" in said.err or "No such file" in said.err
    assert person.types("history --all --json").document["runs"] == before
