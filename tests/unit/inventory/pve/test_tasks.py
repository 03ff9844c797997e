"""A task is followed to its end, whatever the line does meanwhile."""

from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

import pytest

from inventory.errors import (
    BadParameter,
    ConnectionLost,
    DeadlineExceeded,
    GuestLocked,
    NotFound,
    SpecrailError,
    TaskFailed,
    UnreachableError,
)
from inventory.pve.tasks import TaskResult, wait
from inventory.pve.upid import parse
from tests.unit.fake_node import Connect, FakeNode

UPID = parse("UPID:pve1:0009E9B0:103F1191:660069E7:vzcreate:129:llm@pve!deploy:")
RUNNING = {"status": "running"}
Answers = dict[str, Any] | SpecrailError


class Script:
    """A node that answers status questions one after the other (the last for ever); log grows by one line each time."""

    def __init__(self, statuses: list[Answers], log: list[str], at_once: int | None = None) -> None:
        self._statuses = chain(statuses, repeat(statuses[-1]))
        self._log = log
        self._visible = at_once or 0
        self.asked: list[str] = []
        self.now = 0.0

    def get_map(self, path: str, /) -> dict[str, Any]:
        self.asked.append(path)
        answer = next(self._statuses)
        self._visible += 1
        if isinstance(answer, SpecrailError):
            raise answer
        if answer["status"] == "stopped":
            self._visible = len(self._log)
        return answer

    def get_rows(self, path: str, /, *, start: int, limit: int) -> list[dict[str, Any]]:
        rows = [{"n": number + 1, "t": line} for number, line in enumerate(self._log[: self._visible])]
        return rows[start : start + limit] or [{"n": 1, "t": "no content"}] * (start == 0)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def follow(script: Script, timeout_s: float = 600, on_line: Callable[[str], None] | None = None) -> TaskResult:
    return wait(script, UPID, on_line, timeout_s, clock=lambda: script.now, sleep=script.sleep)


def ended(exitstatus: str) -> dict[str, Any]:
    return {"status": "stopped", "exitstatus": exitstatus}


def test_ok() -> None:
    result = follow(Script([RUNNING, ended("OK")], ["extracting", "TASK OK"]))
    assert result == TaskResult(ok=True, warnings=(), log_tail=("extracting", "TASK OK"))


def test_the_log_is_handed_on_while_it_grows_and_each_line_once() -> None:
    script = Script([RUNNING, RUNNING, RUNNING, ended("OK")], ["one", "two", "two", "three", "TASK OK"])
    moments: list[tuple[float, str]] = []
    follow(script, on_line=lambda line: moments.append((script.now, line)))
    assert moments == [(0.0, "one"), (1.0, "two"), (2.0, "two"), (3.0, "three"), (3.0, "TASK OK")]


def test_a_log_longer_than_a_page_comes_whole() -> None:
    seen: list[str] = []
    follow(Script([ended("OK")], [f"line {n}" for n in range(1234)]), on_line=seen.append)
    assert seen == [f"line {n}" for n in range(1234)]


def test_warnings_are_success_and_are_told() -> None:
    log = ["WARN: Systemd 255 detected. You may need to enable nesting.", "WARNING: no acl", "TASK WARNINGS: 2"]
    result = follow(Script([ended("WARNINGS: 2")], log))
    assert result.ok
    assert result.warnings == tuple(log[:2])


def test_warnings_whose_lines_are_not_found_are_counted() -> None:
    assert follow(Script([ended("WARNINGS: 1")], [])).warnings == ("1 warnings, see the task's log",)


def test_a_failure_quotes_the_end_of_the_log_and_says_what_helps() -> None:
    log = [f"step {n}" for n in range(30)] + ["TASK ERROR: CT is locked (backup)"]
    with pytest.raises(TaskFailed) as failed:
        follow(Script([ended("CT is locked (backup)")], log))
    error = failed.value
    assert error.what == "CT is locked (backup)"
    assert error.where == ("pve1", "task vzcreate")
    assert "log: step 29" in error.why
    assert "log: step 3" not in error.why
    assert not any("TASK ERROR" in line for line in error.why)
    assert error.tries[0] == "pvesh get /nodes/pve1/tasks --source active --vmid 129"
    assert error.log is not None
    assert error.log.startswith(f"pvenode task log '{UPID}'")
    assert isinstance(error.__cause__, GuestLocked)


@pytest.mark.parametrize(
    ("exitstatus", "reason"),
    [
        ("unexpected status", "is not known"),
        ("received interrupt", "stopped the task"),
        ("unable to create CT 129 - volume 'local:vztmpl/x' does not exist", "downloaded once"),
    ],
)
def test_every_other_end_is_a_failure_with_its_reason(exitstatus: str, reason: str) -> None:
    with pytest.raises(TaskFailed) as failed:
        follow(Script([ended(exitstatus)], []))
    assert failed.value.what == exitstatus
    assert any(reason in line for line in failed.value.why)


def test_an_end_without_an_exit_status_is_a_failure() -> None:
    with pytest.raises(TaskFailed, match="unexpected status"):
        follow(Script([{"status": "stopped"}], []))


def test_blips_are_survived() -> None:
    blips: list[Answers] = [UnreachableError("Broken pipe"), UnreachableError("No route to host")]
    assert follow(Script([RUNNING, *blips, RUNNING, ended("OK")], ["one", "TASK OK"])).ok


def test_many_short_absences_do_not_add_up() -> None:
    absence: list[Answers] = [UnreachableError("No route to host")] * 50
    assert follow(Script([*absence, RUNNING, *absence, RUNNING, *absence, ended("OK")], ["TASK OK"])).ok


def test_a_node_that_stays_away_is_reported_with_the_task() -> None:
    script = Script([RUNNING, UnreachableError("No route to host", tries=["ping pve1"])], [])
    with pytest.raises(ConnectionLost) as lost:
        follow(script)
    assert 120 <= script.now < 125
    assert "No route to host" in lost.value.what
    assert lost.value.tries == ("ping pve1",)
    assert str(UPID) in str(lost.value.log)


def test_a_task_that_is_not_known_yet_is_waited_for() -> None:
    assert follow(Script([BadParameter("no such task"), BadParameter("no such task"), ended("OK")], [])).ok


def test_a_task_that_is_never_known_is_an_error() -> None:
    script = Script([BadParameter("no such task")], [])
    with pytest.raises(BadParameter, match="no such task"):
        follow(script)
    assert 10 <= script.now < 15


def test_a_task_that_takes_too_long_runs_on() -> None:
    with pytest.raises(DeadlineExceeded) as late:
        follow(Script([RUNNING], ["extracting"]), timeout_s=30)
    assert late.value.what == "the task has not ended after 30 s"
    assert late.value.tries[0].startswith(f"pvesh delete '/nodes/pve1/tasks/{UPID}'")
    assert "log: extracting" in late.value.why


def test_a_refusal_ends_the_waiting() -> None:
    with pytest.raises(NotFound):
        follow(Script([NotFound("gone")], []))


def test_it_asks_the_node_of_the_task() -> None:
    script = Script([ended("OK")], [])
    follow(script)
    assert script.asked == [f"/nodes/pve1/tasks/{UPID}/status"]


def test_a_real_task_of_a_token_is_followed(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129).start_error = "Device /dev/nvidia-uvm does not exist"
    pve = connect()
    task = pve.post("/nodes/pve1/lxc/129/status/start")
    seen: list[str] = []
    with pytest.raises(TaskFailed) as failed:
        pve.wait(task, seen.append)
    assert isinstance(failed.value.__cause__, NotFound)
    assert "nvidia-modprobe" in failed.value.tries[0]
    assert seen[-1].startswith("TASK ERROR")
