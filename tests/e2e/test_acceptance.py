"""What a running server's log and counters say of its drafts, read on the host."""

from pathlib import Path

import pytest

from tests.e2e.host import Seen
from tests.e2e.person import HOST, Person


@pytest.fixture
def busy(promoted: Seen, person: Person) -> Seen:
    """The server has served enough for its log to hold windows."""
    assert person.types(f"bench --host {HOST}").code == 0
    return promoted


def test_a_hosts_log_is_read_there_and_passes(busy: Seen, person: Person) -> None:
    said = person.types(f"acceptance --host {HOST} --json")
    assert said.code == 0, said.all
    answer = said.answer
    assert (answer["verdict"], answer["causes"]) == ("pass", [])
    assert answer["rounds"] > 50
    assert answer["acceptance_length"] == pytest.approx(1 + answer["accepted"] / answer["rounds"])
    assert len(answer["per_position_rates"]) == answer["speculative_tokens"]
    assert answer["method"] == "dflash"


def test_a_host_that_serves_nothing_meanwhile_counts_nothing(promoted: Seen, person: Person) -> None:
    said = person.types(f"acceptance --host {HOST} --seconds 0.2")
    assert said.code == 4
    assert "no drafts were made" in said.out


def test_releases_are_compared_prompt_by_prompt(busy: Seen, person: Person) -> None:
    said = person.types(f"acceptance --host {HOST} --compare {busy.current} {busy.current} --json")
    assert said.code == 0, said.all
    change = said.answer["change"]
    assert (change["relative"], change["low"]) == (pytest.approx(0), pytest.approx(0))
    assert person.types(f"acceptance --host {HOST} --compare {busy.current} nowhere").code == 2


def test_a_watch_goes_on_where_it_was_and_is_silent_while_all_is_well(
    busy: Seen, person: Person, tmp_path: Path
) -> None:
    metrics = tmp_path / "ct129.prom"
    first = person.types(f"watch --host {HOST} --once --textfile {metrics} --json")
    assert first.code == 0, first.all
    rounds = first.answer["watched"]["rounds"]
    assert rounds > 50
    assert 'specrail_acceptance_alarm{host="ct129"} 0.0' in metrics.read_text()
    again = person.types(f"watch --host {HOST} --once")
    assert (again.code, again.out.strip()) == (0, "")
    assert person.types(f"watch --host {HOST} --once --json").answer["watched"]["rounds"] == rounds


def test_what_was_measured_before_is_plotted_and_written_as_a_page(busy: Seen, person: Person, tmp_path: Path) -> None:
    said = person.types(f"history --host {HOST} --html {tmp_path / 'ct129.html'}")
    assert said.code == 0, said.all
    assert "k=15: acceptance length" in said.out
    assert busy.current is not None
    assert busy.current in said.out
    assert "<svg" in (tmp_path / "ct129.html").read_text(encoding="utf-8")
    runs = person.types(f"history --host {HOST} --json").answer["runs"]
    assert {"gate", "bench"} <= {run["kind"] for run in runs}
    assert runs[-1]["acceptance_length"] > 1.5
