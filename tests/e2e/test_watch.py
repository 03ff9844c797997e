"""Watching several hosts at once: each event once, whatever the hosts do meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.host import CTID, Seen, broken
from tests.e2e.person import HOST, Person
from tests.e2e.survival.command import Command
from tests.e2e.survival.on_host import OnHost
from tests.lab.ground import Lab
from tests.unit.acceptance.printed_logs import log
from tests.unit.acceptance.simulate import ALL_WRONG_C1, RIGHT_K15

OTHER = "ct130"
"""In the inventory, and never made."""


@pytest.fixture
def engine_log(lab: Lab, promoted: Seen) -> Iterator[Path]:
    """The engine's log on the host; what a test writes into it is taken out again."""
    file = lab.layout.folder / HOST / "var/log/specrail/vllm/serve.log"
    size = file.stat().st_size
    yield file
    with file.open("r+b") as opened:
        opened.truncate(size)


@pytest.fixture
def watcher(lab: Lab) -> Person:
    """Somebody who has watched nothing yet."""
    return Person(lab, lab.layout.folder / f"watcher-{len(list(lab.layout.folder.glob('watcher-*')))}")


def samples(file: Path) -> dict[tuple[str, str], float]:
    """Value by metric and host, as Prometheus' own reader reads them."""
    families = text_string_to_metric_families(file.read_text())
    return {(one.name, one.labels["host"]): one.value for family in families for one in family.samples}


def write(file: Path, text: bytes) -> None:
    with file.open("ab") as opened:
        opened.write(text)


def test_all_hosts_of_a_group_are_looked_at_and_the_worst_decides(
    engine_log: Path, watcher: Person, tmp_path: Path
) -> None:
    write(engine_log, log(RIGHT_K15, windows=2))
    metrics = tmp_path / "specrail.prom"
    first = watcher.types(f"watch --host lab --once --textfile {metrics}")
    assert first.code == 6, first.all
    (line,) = first.out.splitlines()
    assert line.startswith(f"alarm · {OTHER} · unreachable: cannot be read: there is no container 130")
    assert line.endswith(f"next: invoke deploy --host {OTHER}")
    values = samples(metrics)
    assert (values["specrail_watch_up", HOST], values["specrail_watch_up", OTHER]) == (1, 0)
    assert values["specrail_acceptance_length", HOST] > 2
    assert ("specrail_acceptance_length", OTHER) not in values

    again = watcher.types("watch --host lab --once")
    assert (again.code, again.out) == (6, "")  # told once; the code goes on
    write(engine_log, log(ALL_WRONG_C1, windows=2))
    broken_now = watcher.types(f"watch --host lab --once --json --textfile {metrics}")
    assert broken_now.code == broken_now.document["exit_code"] == 1  # an alarm weighs more than a host that is away
    good, away = broken_now.document["hosts"]
    assert (good["alarm"], good["away"], good["exit_code"]) == ("several-fields-wrong", False, 1)
    assert (away["alarm"], away["away"], away["exit_code"]) == (None, True, 6)
    assert samples(metrics)["specrail_acceptance_alarm", HOST] == 1


def test_a_host_that_goes_away_and_comes_back_is_followed_on(lab: Lab, engine_log: Path, watcher: Person) -> None:
    write(engine_log, log(RIGHT_K15, windows=2))
    watch = Command(("watch", "--host", "lab", "--interval", "1"), watcher.environment())
    try:
        watch.until(rf"alarm · {OTHER} · unreachable")
        watch.until(rf"{HOST}: acceptance length")
        with broken(lab, "ssh-down", ctid=129):
            watch.until(rf"alarm · {HOST} · unreachable")
        watch.until(rf"recovered · {HOST} · unreachable")
        write(engine_log, log(ALL_WRONG_C1, windows=2))
        watch.until(rf"alarm · {HOST} · several-fields-wrong.*next: invoke drafter --host {HOST}")
        watch.interrupt()
        ended = watch.end()
    finally:
        watch.clean_up()
    assert ended.code == 130
    assert len(ended.out.splitlines()) == 4  # each event once
    assert "watch: interrupted; nothing was changed" in ended.err


def test_a_server_that_is_stopped_is_an_alarm_until_it_answers_again(lab: Lab, promoted: Seen, watcher: Person) -> None:
    host = OnHost(lab, CTID)
    watcher.types(f"watch --host {HOST} --once")
    host.control("stop")
    watcher.types(f"watch --host {HOST} --once")  # it has logged its end
    said = watcher.types(f"watch --host {HOST} --once")
    assert said.code == 1
    assert said.out.startswith(f"alarm · {HOST} · server-down: the server does not answer: ")
    assert said.out.endswith(f"next: invoke logs --host {HOST}\n")
    assert watcher.types(f"watch --host {HOST} --once").out == ""
    assert watcher.types(f"deploy --host {HOST}").code == 0  # starts it again, and changes nothing else
    assert (
        f"recovered · {HOST} · server-down: the server answers again"
        in watcher.types(f"watch --host {HOST} --once").out
    )


def test_a_log_that_is_gone_is_told_and_gone_on_with_when_it_is_back(engine_log: Path, watcher: Person) -> None:
    write(engine_log, log(RIGHT_K15, windows=2))
    assert watcher.types(f"watch --host {HOST} --once").code == 0
    aside = engine_log.with_suffix(".aside")
    engine_log.rename(aside)
    said = watcher.types(f"watch --host {HOST} --once")
    aside.rename(engine_log)
    assert said.code == 1
    assert f"cannot be read: there is no log: {engine_log}" in said.out
    back = watcher.types(f"watch --host {HOST} --once")
    assert (back.code, back.out) == (0, f"recovered · {HOST} · unreachable: its log can be read again\n")


def test_a_watch_that_begins_says_what_goes_on(engine_log: Path, watcher: Person) -> None:
    write(engine_log, log(ALL_WRONG_C1, windows=2))
    assert watcher.types(f"watch --host {HOST} --once").code == 1
    watch = Command(("watch", "--host", HOST), watcher.environment())
    try:
        watch.until("the alarm several-fields-wrong goes on")
        watch.interrupt()
        assert watch.end().out == ""
    finally:
        watch.clean_up()
