"""Long work on a host: followed line by line, found again, never started twice, and ended when it must."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from inventory.errors import (
    ConnectionLost,
    DeadlineExceeded,
    HostKeyError,
    LockedError,
    PreflightError,
    UnreachableError,
)
from inventory.ssh.job import JobResult, run_job
from inventory.ssh.posix import Output
from inventory.ssh.shell import SshShell
from inventory.wait import wait_for
from tests.unit.inventory.ssh.here import Here
from tests.unit.inventory.ssh.servers import Relay, Server


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class Gate:
    """Holds a job at `wait` until the test opens it."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "open"
        self.wait = f"while [ ! -e {self._file} ]; do sleep 0.05; done"

    def open(self) -> None:
        self._file.touch()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[str]:
    yield f"{tmp_path}/jobs"
    for file in Path(f"{tmp_path}/jobs").glob("*.job"):
        pid = int(file.read_text().split()[2])
        if Path(f"/proc/{pid}").exists():
            os.killpg(pid, signal.SIGKILL)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def starts(tmp_path: Path) -> int:
    """How often a job that does `echo >> starts` was started."""
    return len((tmp_path / "starts").read_text())


def in_background(act: Callable[[], JobResult]) -> tuple[threading.Thread, list[JobResult]]:
    results: list[JobResult] = []
    thread = threading.Thread(target=lambda: results.append(act()), daemon=True)
    thread.start()
    return thread, results


def test_a_job_gives_its_status_its_lines_in_order_and_where_its_log_is(folder: str) -> None:
    lines: list[str] = []
    script = "echo one; echo two >&2; printf 'größe\\r\\nlast'; exit 7"
    result = run_job(Here(), "build", script, folder, timeout_s=20, on_line=lines.append)
    assert lines == ["one", "two", "größe", "last"]
    assert result == JobResult(7, tuple(lines), f"{folder}/build.log", attached=False)
    assert not result.ok


def test_a_silent_job_that_does_well(folder: str) -> None:
    result = run_job(Here(), "build", "cat > /dev/null", folder, timeout_s=20)
    assert (result.ok, result.tail) == (True, ())


def test_its_files_are_for_the_owner_only_and_its_own_umask_is_the_hosts(folder: str, tmp_path: Path) -> None:
    run_job(Here(), "build", f"umask > {tmp_path}/umask", folder, timeout_s=20)
    usual = subprocess.run(["/bin/sh", "-c", "umask"], capture_output=True, text=True, check=True).stdout
    assert (tmp_path / "umask").read_text() == usual
    assert {path.stat().st_mode & 0o077 for path in Path(folder).iterdir()} == {0}


def test_a_log_larger_than_a_poll_comes_whole_and_in_lines(folder: str) -> None:
    lines: list[str] = []
    script = "seq 1 100000; head -c 400000 /dev/zero | tr '\\0' x; echo; echo end"
    run_job(Here(), "build", script, folder, timeout_s=60, on_line=lines.append)
    assert lines[:100_000] == [str(number) for number in range(1, 100_001)]
    assert "".join(lines[100_000:-1]) == "x" * 400_000
    assert lines[-1] == "end"


def test_lines_come_while_it_runs_and_never_half(folder: str, gate: Gate) -> None:
    """The job waits for what its first line makes us do; the line after it is still without its end at that time."""
    lines: list[str] = []

    def on_line(line: str) -> None:
        lines.append(line)
        gate.open()

    script = f"echo first; printf 'seco'; {gate.wait}; echo nd"
    run_job(Here(), "build", script, folder, timeout_s=20, on_line=on_line)
    assert lines == ["first", "second"]


def test_the_same_job_that_still_runs_is_followed_not_started_again(folder: str, gate: Gate, tmp_path: Path) -> None:
    script = f"printf x >> {tmp_path}/starts; echo begun; {gate.wait}; echo done"
    first, results = in_background(lambda: run_job(Here(), "build", script, folder, timeout_s=30))
    lines: list[str] = []

    def on_line(line: str) -> None:
        lines.append(line)
        gate.open()

    wait_for(lambda: (tmp_path / "starts").exists() or None, what="the start", timeout_s=20)
    second = run_job(Here(), "build", script, folder, timeout_s=30, on_line=on_line)
    first.join(20)
    assert (second.attached, lines) == (True, ["begun", "done"])
    assert [(result.attached, result.ok) for result in results] == [(False, True)]
    assert starts(tmp_path) == 1


def test_another_script_with_the_same_outcome_follows_the_one_that_runs(
    folder: str, gate: Gate, tmp_path: Path
) -> None:
    script = f"touch {tmp_path}/begun; {gate.wait}; echo the first"
    first, _ = in_background(lambda: run_job(Here(), "build", script, folder, timeout_s=30, outcome="a venv"))
    wait_for(lambda: (tmp_path / "begun").exists() or None, what="the start", timeout_s=20)
    gate.open()
    second = run_job(Here(), "build", "echo the second", folder, timeout_s=30, outcome="a venv")
    first.join(20)
    assert (second.attached, second.tail) == (True, ("the first",))


def test_another_script_under_the_name_of_one_that_runs_is_refused(folder: str, gate: Gate, tmp_path: Path) -> None:
    script = f"touch {tmp_path}/begun; {gate.wait}"
    first, _ = in_background(lambda: run_job(Here(), "build", script, folder, timeout_s=30))
    wait_for(lambda: (tmp_path / "begun").exists() or None, what="the start", timeout_s=20)
    with pytest.raises(LockedError, match="another build is running"):
        run_job(Here(), "build", "true", folder, timeout_s=20)
    gate.open()
    first.join(20)


class Gone(Here):
    """Loses the line after each call that `lose` says, when it was carried out already."""

    def __init__(self, lose: Callable[[str], bool]) -> None:
        super().__init__()
        self._lose = lose

    def execute(self, script: str, **options: Any) -> Output:
        output = super().execute(script, **options)
        if self._lose(script):
            raise ConnectionLost("the line broke")
        return output


class Away(Here):
    """Out of reach as soon as a job was started."""

    def execute(self, script: str, **options: Any) -> Output:
        if self.scripts:
            raise UnreachableError("no route to host")
        return super().execute(script, **options)


def test_a_line_that_breaks_after_the_start_was_sent_does_not_start_it_twice(folder: str, tmp_path: Path) -> None:
    broken: list[str] = []

    def once(script: str) -> bool:
        if "setsid" in script and not broken:
            broken.append(script)
            return True
        return False

    clock = Clock()
    script = f"printf x >> {tmp_path}/starts; echo out"
    result = run_job(Gone(once), "build", script, folder, timeout_s=20, clock=clock, sleep=clock.sleep)
    assert (result.ok, result.tail, result.attached) == (True, ("out",), False)
    assert starts(tmp_path) == 1


def test_a_line_that_breaks_at_every_other_call_loses_and_doubles_no_line(folder: str) -> None:
    calls = 0

    def every_other(script: str) -> bool:
        nonlocal calls
        calls += 1
        return calls % 2 == 0

    lines: list[str] = []
    clock = Clock()
    run_job(
        Gone(every_other), "build", "seq 1 200000", folder,
        timeout_s=1000, on_line=lines.append, clock=clock, sleep=clock.sleep,
    )  # fmt: skip
    assert lines == [str(number) for number in range(1, 200_001)]


def test_a_host_that_stays_out_of_reach_leaves_the_job_to_itself_and_says_how_to_find_it(
    folder: str, gate: Gate, tmp_path: Path
) -> None:
    shell = Away()
    clock = Clock()
    script = f"{gate.wait}; echo done > {tmp_path}/done"
    waited: list[float] = []
    with pytest.raises(ConnectionLost, match="out of reach since 3") as caught:
        run_job(shell, "build", script, folder, timeout_s=5000, clock=clock, sleep=clock.sleep, on_wait=waited.append)
    assert "build goes on there" in caught.value.why[0]
    assert waited == sorted(waited)
    assert waited[-1] > 250
    assert "the same command again" in caught.value.tries[0]
    assert clock.now_s >= 300
    gate.open()
    assert run_job(Here(), "build", script, folder, timeout_s=20).attached
    assert (tmp_path / "done").exists()


def test_a_host_that_cannot_be_reached_to_begin_with_is_not_waited_for(folder: str) -> None:
    shell = Away()
    shell.scripts.append("somebody else's")
    with pytest.raises(UnreachableError, match="no route to host"):
        run_job(shell, "build", "true", folder, timeout_s=5000, sleep=lambda _: pytest.fail("waited"))


def test_over_ssh_a_job_survives_that_its_line_is_cut(
    server: Server, closing: Callable[[SshShell], SshShell], folder: str, gate: Gate, tmp_path: Path
) -> None:
    lines: list[str] = []
    with Relay(server.port) as relay:

        def on_line(line: str) -> None:
            lines.append(line)
            if line == "begun":
                relay.cut()
                gate.open()

        script = f"printf x >> {tmp_path}/starts; echo begun; {gate.wait}; echo done"
        shell = closing(server.shell(port=relay.port))
        result = run_job(shell, "build", script, folder, timeout_s=30, on_line=on_line)
        assert (result.ok, lines, starts(tmp_path), relay.calls) == (True, ["begun", "done"], 1, 2)


def test_one_that_has_ended_with_nobody_told_is_told_once_and_then_started_anew(folder: str, tmp_path: Path) -> None:
    script = f"printf x >> {tmp_path}/starts; exit 4"
    clock = Clock()
    with pytest.raises(ConnectionLost):
        run_job(Away(), "build", script, folder, timeout_s=5000, clock=clock, sleep=clock.sleep)
    wait_for(lambda: Path(folder, "build.rc").exists() or None, what="the end", timeout_s=20)
    told = run_job(Here(), "build", script, folder, timeout_s=20)
    assert (told.exit_status, told.attached, starts(tmp_path)) == (4, True, 1)
    anew = run_job(Here(), "build", script, folder, timeout_s=20)
    assert (anew.exit_status, anew.attached, starts(tmp_path)) == (4, False, 2)


def test_a_deadline_kills_all_of_its_processes(folder: str, tmp_path: Path) -> None:
    script = f"echo last words; sleep 20 & echo $! > {tmp_path}/pid; sleep 20"
    with pytest.raises(DeadlineExceeded, match="did not end within 1 s and was killed") as caught:
        run_job(Here(), "build", script, folder, timeout_s=1)
    assert caught.value.why == ("last words",)
    pid = int((tmp_path / "pid").read_text())
    wait_for(lambda: _is_gone(pid) or None, what="the child to go", timeout_s=20)


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize(("on_interrupt", "survives"), [("leave", True), ("kill", False)])
def test_ctrl_c_leaves_or_kills_as_was_chosen(
    folder: str, gate: Gate, tmp_path: Path, on_interrupt: Literal["leave", "kill"], survives: bool
) -> None:
    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    script = f"echo begun; {gate.wait}; echo > {tmp_path}/survived"
    with pytest.raises(KeyboardInterrupt):
        run_job(Here(), "build", script, folder, timeout_s=30, on_line=interrupt, on_interrupt=on_interrupt)
    gate.open()
    wait_for(lambda: (Path(folder) / "build.rc").exists() or None, what="the end", timeout_s=20)
    assert (tmp_path / "survived").exists() == survives


def test_a_job_that_was_killed_outright_ends_without_a_status(folder: str) -> None:
    def kill(line: str) -> None:
        os.killpg(int(Path(folder, "build.job").read_text().split()[2]), signal.SIGKILL)

    result = run_job(Here(), "build", "echo begun; sleep 20", folder, timeout_s=20, on_line=kill)
    assert (result.exit_status, result.ok, result.tail) == (None, False, ("begun",))
    assert run_job(Here(), "build", "echo begun; sleep 20 & exit 0", folder, timeout_s=20).ok


def test_something_it_left_running_does_not_hold_up_its_end_or_the_next_start(folder: str) -> None:
    script = "sleep 20 > /dev/null 2>&1 & exit 0"
    for _ in range(2):
        result = run_job(Here(), "build", script, folder, timeout_s=20)
        assert (result.exit_status, result.attached) == (0, False)


def test_a_host_without_flock_is_told_what_to_install(folder: str, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    with pytest.raises(PreflightError, match="flock is missing") as caught:
        run_job(Here(env={"PATH": f"{tmp_path}/bin"}), "build", "true", folder, timeout_s=20)
    assert caught.value.tries == ("apt-get install -y util-linux",)


@pytest.mark.parametrize(("name", "folder"), [("../x", "/tmp/jobs"), ("-x", "/tmp/jobs"), ("x", "jobs")])
def test_names_that_would_lead_elsewhere_are_a_fault_of_ours(name: str, folder: str) -> None:
    with pytest.raises(ValueError, match="not a job's name"):
        run_job(Here(), name, "true", folder, timeout_s=20)


def test_a_host_key_that_changed_meanwhile_is_not_waited_for(folder: str) -> None:
    class Changed(Here):
        def execute(self, script: str, **options: Any) -> Output:
            raise HostKeyError("not the known one")

    with pytest.raises(HostKeyError):
        run_job(Changed(), "build", "true", folder, timeout_s=20)
