"""The container restarts: nothing runs in the sandbox then, for it has no systemd, and a deploy brings everything back."""

from tests.e2e.survival.ground import CTID, Ground
from tests.e2e.survival.inventories import LONG_GATE

FAILED = 1


def test_a_promoted_release_is_started_again_by_a_deploy_that_changes_nothing_else(ground: Ground) -> None:
    tokens = ground.other_tokens()
    ground.converge(tokens)
    before = ground.seen()
    ground.lab.reboot(CTID)
    status = ground.run("status")
    assert status.code == FAILED
    assert "server is stopped" in status.all
    again = ground.run("deploy", "--tokens", tokens)
    assert again.code == 0, again.all
    assert f"{before.current} was started again and answers" in again.all
    after = ground.seen()
    assert (after.current, after.releases) == (before.current, before.releases)
    assert ground.serves()


def test_during_the_gate_nothing_is_promoted(ground: Ground) -> None:
    before = ground.seen()
    tokens = ground.other_tokens()
    deploy = ground.start("deploy", "--tokens", tokens, inventory=ground.inventory(LONG_GATE))
    deploy.until("gate +measure 1/")
    ground.lab.reboot(CTID)
    ended = deploy.end()
    assert ended.code in {1, 6}, ended.all
    assert ground.seen().promoted == before.promoted
    ground.converge(tokens)


def test_what_was_pending_when_everything_died_is_not_believed_afterwards(ground: Ground) -> None:
    """Controller and container go at once, as in a power cut: the timer is gone, its deadline is not."""
    before = ground.seen()
    tokens = ground.other_tokens()
    deploy = ground.start("deploy", "--tokens", tokens, inventory=ground.inventory(LONG_GATE))
    deploy.until("gate +measure 1/")
    deploy.kill()
    deploy.end()
    pending = ground.pends(previous=before.promoted).pending
    ground.lab.reboot(CTID)
    left = ground.seen()
    assert (left.pending, left.promoted, left.timers) == (pending, before.promoted, ())
    status = ground.run("status")
    assert status.code == FAILED
    assert f"goes back to {before.promoted}" in status.all
    rolled_back = ground.run("rollback")
    assert rolled_back.code == 0, rolled_back.all
    assert ground.seen().settled
    assert ground.seen().current == before.promoted
    ground.converge(tokens)
