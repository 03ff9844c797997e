"""A deploy into a real container: its systemd takes the unit, keeps the server running, and has nothing to complain of."""

import os
import signal

from tests.e2e.survival.ground import eventually
from tests.e2e.survival.inventories import Changes
from tests.lxc.ground import UNIT, LxcGround


def in_service(ground: LxcGround) -> str:
    """The speculative tokens that ask for nothing new."""
    return str(ground.tokens_of(ground.seen().current))


def test_systemd_takes_the_unit_and_has_nothing_to_say_about_it(ground: LxcGround) -> None:
    said = ground.inside(f"systemd-analyze verify /etc/systemd/system/{UNIT}")
    assert (said.status, said.out, said.err) == (0, "", "")
    assert ground.show("ActiveState", "SubState", "UnitFileState", "NeedDaemonReload") == (
        "active",
        "running",
        "enabled",
        "no",
    )
    assert ground.inside("cat /proc/1/comm; systemctl is-system-running").out.split() == ["systemd", "running"]


def test_the_same_again_changes_nothing(ground: LxcGround) -> None:
    before = ground.seen(), ground.show("MainPID", "NRestarts")
    again = ground.run("deploy", "--tokens", in_service(ground))
    assert again.code == 0, again.all
    assert "nothing to do" in again.out
    assert (ground.seen(), ground.show("MainPID", "NRestarts")) == before


def test_an_engine_that_is_killed_is_started_again(ground: LxcGround) -> None:
    assert _after(ground, signal.SIGKILL).endswith("specrail: ended status=KILL")


def test_an_engine_that_ends_with_status_0_is_started_again(ground: LxcGround) -> None:
    assert _after(ground, signal.SIGTERM).endswith("specrail: ended status=0")


def _after(ground: LxcGround, number: signal.Signals) -> str:
    """Signal the engine and wait until another one serves; returns the log up to what systemd wrote between the two."""
    (old,) = ground.engines()
    log, (restarts,) = ground.log(), ground.show("NRestarts")
    os.kill(old, number)
    eventually(lambda: ground.engines() not in ([], [old]) and ground.serves(), "another engine serves")
    assert ground.show("NRestarts") == (str(int(restarts) + 1),)
    return ground.log().removeprefix(log).partition("\nspecrail: launch")[0]


def test_a_failed_gate_reverts(ground: LxcGround) -> None:
    before = ground.seen()
    wrong = "tests/lab/drafters/wrong-qwen3.6-27b.json"
    strict: Changes = {
        "defaults.server.start_timeout_s": 60,
        "defaults.gate.prompts": 50,
        "defaults.gate.max_tokens": 32,
        "defaults.gate.min_acceptance_length": 1.5,
    }
    deploy = ground.run(
        "deploy", "--drafter-config", wrong, "--allow-drafter-errors", inventory=ground.inventory(strict)
    )
    assert deploy.code == 3, deploy.all
    after = ground.seen()
    assert (after.current, after.promoted, after.pending, after.timers) == (before.current, before.promoted, None, ())
    assert after.events[len(before.events) :] == ("started", "activated", "reverted", "finished")
    assert f"reverted to {before.current}, which answers" in deploy.all
    assert ground.serves()


def test_a_rollback_goes_back_to_the_release_before(ground: LxcGround) -> None:
    first = ground.seen().current
    ground.converge(ground.other_tokens())
    second = ground.seen().current
    assert second != first
    rollback = ground.run("rollback")
    assert rollback.code == 0, rollback.all
    after = ground.seen()
    assert (after.current, after.promoted, after.timers) == (first, first, ())
    assert ground.serves()


def test_a_deploy_writes_only_where_the_readme_says(ground: LxcGround) -> None:
    own = ("/opt/specrail/vllm/*", "/var/log/specrail/vllm/*")
    systemd = ("/var/log/journal/*", "/var/log/wtmp", "/var/lib/dbus/machine-id")
    skipped = " ".join(f"! -path '{path}'" for path in (*own, *systemd))
    # The machine's id is written when it starts for the first time.
    changed = ground.inside(f"find / -xdev -newer /etc/machine-id \\( -type f -o -type l \\) {skipped}")
    units = "/etc/systemd/system"
    assert sorted(changed.out.split()) == [f"{units}/multi-user.target.wants/{UNIT}", f"{units}/{UNIT}"]
