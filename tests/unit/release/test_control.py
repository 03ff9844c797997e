"""control.sh, run for real by /bin/sh with the process supervisor."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inventory.errors import LockedError, ServerError
from roles.release import control, facts
from roles.release.layout import Layout
from roles.release.stage import File, Staging, stage
from tests.local_shell import LocalShell

GOOD, NEXT = "2026-11-29T10-00-00Z-aaaa", "2026-11-29T11-00-00Z-bbbb"


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it becomes true; the bound only ends a test that has failed anyway."""
    end = time.monotonic() + 15
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Host:
    """One service in a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.shell = LocalShell()
        self.layout = Layout(service="vllm", root=str(folder / "opt"), logs=str(folder / "log"))
        control.install(self.shell, self.layout, control.files(self.layout, "process", 2))
        self.control = control.Control(self.shell, self.layout)

    def add(self, release: str, body: str) -> None:
        launch = f"#!/bin/sh\necho 'specrail: launch release={release}'\n{body}\n"
        stage(self.shell, self.layout, Staging(release, {"launch.sh": File(launch.encode(), 0o755)}))

    @property
    def base(self) -> Path:
        return Path(self.layout.base)

    @property
    def log(self) -> str:
        file = Path(self.layout.log)
        return file.read_text() if file.exists() else ""

    def facts(self) -> facts.ReleaseFacts:
        asked = facts.questions(self.layout, 9)
        return facts.parse({name: self.shell.run(script, check=False).stdout for name, script in asked.items()})

    def audit(self) -> list[str]:
        return [json.loads(line)["event"] for line in (self.base / "audit.jsonl").read_text().splitlines()]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    there = Host(tmp_path)
    there.add(GOOD, "exec sleep 600")
    there.add(NEXT, "exec sleep 600")
    yield there
    pending = there.facts().pending
    if pending:
        there.control.keep(pending.nonce)
    there.control.stop()


def test_a_confirmed_release_is_current_and_promoted_and_runs(host: Host) -> None:
    host.control.activate(GOOD, "n1", confirm_within_s=60, previous=None)
    assert host.facts().pending is not None
    host.control.confirm("n1")
    seen = host.facts()
    assert (seen.current, seen.promoted, seen.pending) == (GOOD, GOOD, None)
    assert seen.server_running
    assert eventually(lambda: f"launch release={GOOD}" in host.log)
    assert host.audit() == ["activated", "promoted"]


def test_an_activation_that_nobody_confirms_goes_back_by_itself(host: Host) -> None:
    host.control.activate(GOOD, "n1", confirm_within_s=60, previous=None)
    host.control.confirm("n1")
    host.control.activate(NEXT, "n2", confirm_within_s=1, previous=GOOD)
    assert host.facts().current == NEXT
    assert eventually(lambda: host.facts().current == GOOD)
    assert eventually(lambda: host.log.rstrip().endswith(f"launch release={GOOD}"))
    assert host.facts().server_running
    with pytest.raises(ServerError, match="went back"):
        host.control.confirm("n2")
    assert host.audit()[-1] == "reverted"


def test_a_very_large_log_is_rotated_where_a_server_changes(host: Host) -> None:
    log = Path(host.layout.log)
    log.parent.mkdir(exist_ok=True)
    for name, size in (("", 300 << 20), (".1", 1), (".5", 5)):
        with Path(f"{log}{name}").open("wb") as file:
            file.truncate(size)
    host.control.activate(GOOD, "n1", confirm_within_s=60, previous=None)
    assert {path.name.removeprefix(log.name): path.stat().st_size for path in log.parent.iterdir() if path != log} == {
        ".1": 300 << 20,
        ".2": 1,
        ".5": 5,
    }
    assert eventually(lambda: f"launch release={GOOD}" in host.log)
    assert len(host.log) < 1000


def test_a_first_release_that_is_reverted_leaves_nothing_running(host: Host) -> None:
    host.control.activate(GOOD, "n1", confirm_within_s=60, previous=None)
    host.control.revert("n1", "gate failed")
    seen = host.facts()
    assert (seen.current, seen.promoted, seen.pending, seen.server_running) == (None, None, None, False)


def test_reverting_twice_does_nothing_the_second_time(host: Host) -> None:
    host.control.activate(GOOD, "n1", confirm_within_s=60, previous=None)
    assert host.control.revert("n1", "gate failed") is not None
    assert host.control.revert("n1", "gate failed") is None


def test_an_older_timer_does_not_touch_a_newer_activation(host: Host) -> None:
    host.control.activate(GOOD, "n1", confirm_within_s=60, previous=None)
    host.control.activate(NEXT, "n2", confirm_within_s=60, previous=None)
    host.shell.run(f"{host.layout.control} expire n1", check=False)
    assert host.facts().current == NEXT


def test_a_server_that_ends_with_status_0_is_started_again(host: Host) -> None:
    host.add("2026-11-29T12-00-00Z-cccc", "exit 0")
    host.control.activate("2026-11-29T12-00-00Z-cccc", "n1", confirm_within_s=60, previous=None)
    assert eventually(lambda: host.log.count("launch release=") >= 2)
    assert "specrail: ended status=0" in host.log


def test_stop_ends_children_of_the_server_too(host: Host) -> None:
    host.add("2026-11-29T12-00-00Z-dddd", "sleep 600 & echo child=$!; wait")
    host.control.activate("2026-11-29T12-00-00Z-dddd", "n1", confirm_within_s=60, previous=None)
    assert eventually(lambda: "child=" in host.log)
    child = int(host.log.rpartition("child=")[2].split()[0])
    host.control.stop()
    assert eventually(lambda: not Path(f"/proc/{child}").exists() or "Z (" in Path(f"/proc/{child}/status").read_text())


def test_a_deadline_that_passed_while_the_host_was_down_counts_at_the_next_start(host: Host) -> None:
    host.control.activate(GOOD, "n1", confirm_within_s=60, previous=None)
    host.control.confirm("n1")
    host.control.activate(NEXT, "n2", confirm_within_s=60, previous=GOOD)
    host.control.stop()
    host.shell.run(f"kill $(cat {host.base}/run/timer.n2)", check=False)
    text = (host.base / "pending").read_text()
    (host.base / "pending").write_text(text.replace(text.rpartition("deadline=")[2], "1\n"))
    host.control.start()
    assert eventually(lambda: host.facts().current == GOOD and host.facts().pending is None)


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, whose id was the timer's before the machine was restarted."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        yield process
        process.kill()


def test_after_a_restart_the_id_of_the_timer_may_be_anybodys(host: Host, stranger: subprocess.Popen[bytes]) -> None:
    host.control.activate(GOOD, "n1", confirm_within_s=60, previous=None)
    host.control.confirm("n1")
    host.control.activate(NEXT, "n2", confirm_within_s=60, previous=GOOD)
    host.control.stop()
    host.shell.run(f"kill -- -$(cat {host.base}/run/timer.n2)")
    (host.base / "run/timer.n2").write_text(f"{stranger.pid}\n")
    host.control.start()
    assert eventually(lambda: (host.base / "run/timer.n2").read_text().strip() not in {"", str(stranger.pid)})
    host.shell.run(f"kill -- -$(cat {host.base}/run/timer.n2)")
    (host.base / "run/timer.n2").write_text(f"{stranger.pid}\n")
    host.control.confirm("n2")
    assert stranger.poll() is None


def test_an_unknown_release_changes_nothing(host: Host) -> None:
    host.control.activate(GOOD, "n1", confirm_within_s=60, previous=None)
    host.control.confirm("n1")
    before = host.facts()
    with pytest.raises(Exception, match="not here"):
        host.control.activate("2026-01-01T00-00-00Z-0000", "n2", confirm_within_s=60, previous=GOOD)
    after = host.facts()
    assert (after.current, after.promoted, after.pending) == (before.current, before.promoted, None)


def test_who_has_lost_the_lock_switches_nothing(host: Host) -> None:
    host.control.activate(GOOD, "n1", confirm_within_s=60, previous=None)
    host.control.confirm("n1")
    before = host.facts()
    (host.base / "lock").mkdir()
    (host.base / "lock/details.json").write_text('{"who": "berta", "nonce": "hers"}')
    with pytest.raises(LockedError):
        host.control.activate(NEXT, "ours", confirm_within_s=60, previous=GOOD)
    after = host.facts()
    assert (after.current, after.pending, after.log_bytes) == (before.current, None, before.log_bytes)
    host.control.activate(NEXT, "hers", confirm_within_s=60, previous=GOOD)
    assert host.facts().current == NEXT


def test_watch_gives_each_byte_of_the_log_once(host: Host) -> None:
    host.add("2026-11-29T12-00-00Z-eeee", "printf 'caf\\303\\251\\n'; echo two; exec sleep 600")
    offset = host.control.activate("2026-11-29T12-00-00Z-eeee", "n1", confirm_within_s=60, previous=None)
    text = ""
    while "two" not in text:
        new, offset = host.control.watch(offset, 1)
        text += new
    assert text.splitlines() == ["specrail: launch release=2026-11-29T12-00-00Z-eeee", "café", "two"]
    assert host.control.watch(offset, 0) == ("", offset)
