"""The line to the container breaks: what goes on there goes on, the host decides alone, and the next deploy converges."""

import sqlite3
from contextlib import closing

from tests.e2e.survival.ground import CTID, Ground, eventually
from tests.e2e.survival.inventories import QUICK, SHORT_PATIENCE, STUCK_START, TUNNEL

UNREACHABLE = 6
INTERRUPTED = 130


def test_a_build_goes_on_without_the_line_and_is_followed_again(ground: Ground) -> None:
    with ground.held_build():
        deploy = ground.start("deploy", inventory=ground.inventory(QUICK | ground.another_build()))
        deploy.until("engine +lock")
        (job,) = ground.builds()
        ground.lab.fault("ssh-down", ctid=CTID)
        deploy.until("engine .*out of reach")
        assert ground.builds() == [job]
        ground.lab.fault("ssh-down", on=False, ctid=CTID)
    ended = deploy.end()
    assert ended.code == 0, ended.all
    assert ground.seen().settled


def test_ctrl_c_without_a_line_leaves_the_lock_to_its_lease_and_the_build_to_the_next_deploy(ground: Ground) -> None:
    inventory = ground.inventory(QUICK | ground.another_build())
    with ground.held_build():
        deploy = ground.start("deploy", inventory=inventory)
        deploy.until("engine +lock")
        ground.lab.fault("ssh-down", ctid=CTID)
        deploy.until("engine .*out of reach")
        deploy.interrupt()
        ended = deploy.end()
        assert ended.code == INTERRUPTED, ended.all
        assert "the lock could not be given back; it ends by itself within 90 s" in ended.all
        assert "goes on on the host; the next deploy finds it" in ended.all
        assert (ground.seen().lock or {}).get("pid") == deploy.pid
        ground.lab.fault("ssh-down", on=False, ctid=CTID)
    again = ground.run("deploy", inventory=inventory)
    assert again.code == 0, again.all
    assert ground.seen().settled


def test_while_the_server_starts_the_host_goes_back_alone(ground: Ground) -> None:
    before = ground.seen()
    tokens = ground.other_tokens()
    deploy = ground.start("deploy", "--tokens", tokens, inventory=ground.inventory(STUCK_START | TUNNEL))
    deploy.until("server +launch")
    ground.lab.fault("ssh-down", ctid=CTID)
    ended = deploy.end()
    assert ended.code == UNREACHABLE, ended.all
    assert f"The host goes back to {before.promoted} by itself" in ended.all
    ground.goes_back_to(before)
    ground.lab.fault("ssh-down", on=False, ctid=CTID)
    ground.converge(tokens)


def test_during_the_gate_the_host_goes_back_alone(ground: Ground) -> None:
    before = ground.seen()
    tokens = ground.other_tokens()
    deploy = ground.start("deploy", "--tokens", tokens, inventory=ground.inventory(SHORT_PATIENCE | TUNNEL))
    deploy.until("gate +measure 1/")
    ground.lab.fault("ssh-down", ctid=CTID)
    ended = deploy.end()
    assert ended.code == UNREACHABLE, ended.all
    assert f"The host goes back to {before.promoted} by itself" in ended.all
    ground.goes_back_to(before)
    ground.lab.fault("ssh-down", on=False, ctid=CTID)
    ground.converge(tokens)


def test_just_before_the_confirmation_a_frozen_sshd_means_no_confirmation(ground: Ground) -> None:
    """The history on the controller is busy for as long as the line needs to freeze: then only the confirmation is left."""
    before = ground.seen()
    tokens = ground.other_tokens()
    with closing(sqlite3.connect(ground.person.state / "history.sqlite3", isolation_level=None)) as history:
        history.execute("BEGIN IMMEDIATE")
        deploy = ground.start("deploy", "--tokens", tokens, inventory=ground.inventory(SHORT_PATIENCE))
        eventually(lambda: ground.gate_of_pending().is_file(), "the gate's result")
        ground.lab.fault("ssh-frozen", ctid=CTID)
        history.execute("ROLLBACK")
    ended = deploy.end()
    assert ended.code == UNREACHABLE, ended.all
    assert "Its gate said pass" in ended.all
    assert f"the host goes back to {before.promoted} by itself" in ended.all
    ground.goes_back_to(before)
    ground.lab.fault("ssh-frozen", on=False, ctid=CTID)
    ground.converge(tokens)


def test_a_line_that_breaks_after_the_switch_was_sent_is_no_reason_to_send_it_again(ground: Ground) -> None:
    """The one who waits for the host's state has the switch hang; nobody knows then how far it has come."""
    before = ground.seen()
    with ground.held_state():
        deploy = ground.start("deploy", "--tokens", ground.other_tokens(), inventory=ground.inventory(STUCK_START))
        eventually(lambda: ground.runs("control.sh activate"), "the switch")
        ground.lab.fault("ssh-down", ctid=CTID)
        ended = deploy.end()
    assert ended.code == UNREACHABLE, ended.all
    assert f"The host goes back to {before.promoted} by itself" in ended.all
    ground.goes_back_to(before)


def test_before_the_switch_it_says_that_nothing_was_changed_and_what_to_do(ground: Ground) -> None:
    before = ground.seen()
    tokens = ground.other_tokens()
    with ground.held_lock():
        deploy = ground.start("deploy", "--tokens", tokens)
        eventually(lambda: ground.runs(".lock-guard"), "the wish for the lock")
        ground.lab.fault("ssh-down", ctid=CTID)
        ended = deploy.end()
    assert ended.code == UNREACHABLE, ended.all
    assert "the line broke while the host's lock was taken" in ended.all
    assert "nothing was changed" in ended.all
    assert "Try: invoke deploy --host ct129" in ended.all
    assert ground.seen().current == before.current
    ground.lab.fault("ssh-down", on=False, ctid=CTID)
    ground.converge(tokens)
