"""Ctrl-C or SIGTERM at any time: it says what is left behind, frees the lock, and the host decides about what was switched."""

from tests.e2e.person import Said
from tests.e2e.survival.command import Command
from tests.e2e.survival.ground import CTID, Ground, eventually
from tests.e2e.survival.inventories import LONG_GATE, QUICK, STUCK_START

INTERRUPTED = 130
TERMINATED = 143


def interrupted(command: Command) -> Said:
    """Press Ctrl-C and see what a person sees."""
    command.interrupt()
    ended = command.end()
    assert ended.code == INTERRUPTED, ended.all
    assert "interrupted" in ended.all
    return ended


def test_while_looking_nothing_was_changed(ground: Ground) -> None:
    before = ground.seen()
    ground.lab.fault("api-slow", seconds=5)
    deploy = ground.start("deploy", "--tokens", ground.other_tokens())
    deploy.until("^deploy ct129")
    assert "nothing was changed" in interrupted(deploy).all
    assert ground.seen() == before


def test_a_build_goes_on_and_the_next_deploy_follows_it(ground: Ground) -> None:
    before = ground.seen()
    inventory = ground.inventory(QUICK | ground.another_build())
    with ground.held_build():
        first = ground.start("deploy", inventory=inventory)
        first.until("engine +lock")
        ended = interrupted(first)
        assert "goes on on the host; the next deploy finds it" in ended.all
        assert ground.seen() == before.after("started", "interrupted")
        (job,) = ground.builds()
        second = ground.start("deploy", inventory=inventory)
        second.until("engine +lock")
        assert ground.builds() == [job]
    ended = second.end()
    assert ended.code == 0, ended.all
    assert ground.seen().settled


def test_while_the_server_starts_the_host_goes_back_by_itself(ground: Ground) -> None:
    before = ground.seen()
    deploy = ground.start("deploy", "--tokens", ground.other_tokens(), inventory=ground.inventory(STUCK_START))
    deploy.until("server +launch")
    said = interrupted(deploy).all
    assert f"goes back to {before.promoted} by itself within 6 s" in said
    assert "its server does not answer yet" in said
    assert "Try: invoke deploy --host ct129" in said
    ground.pends(previous=before.promoted)
    assert ground.seen().lock is None
    ground.goes_back_to(before)


def test_during_the_gate_the_next_deploy_need_not_wait_for_the_host(ground: Ground) -> None:
    before = ground.seen()
    tokens = ground.other_tokens()
    deploy = ground.start("deploy", "--tokens", tokens, inventory=ground.inventory(LONG_GATE))
    deploy.until("gate +measure 1/")
    assert "is in service, not confirmed" in interrupted(deploy).all
    ground.pends(previous=before.promoted)
    assert ground.seen().lock is None
    ground.converge(tokens)


def test_sigterm_during_the_gate_is_a_ctrl_c_with_its_own_exit_code(ground: Ground) -> None:
    before = ground.seen()
    deploy = ground.start("deploy", "--tokens", ground.other_tokens(), inventory=ground.inventory(LONG_GATE))
    deploy.until("gate +measure 1/")
    deploy.terminate()
    ended = deploy.end()
    assert ended.code == TERMINATED, ended.all
    assert "interrupted; release" in ended.all
    assert "is in service, not confirmed" in ended.all
    left = ground.pends(previous=before.promoted)
    assert left.lock is None
    assert left.events[-1] == "interrupted"
    plan = ground.run("plan", "--tokens", "15")
    assert f"the host goes back to {before.promoted} in" in plan.all
    assert "invoke rollback --host ct129" in ended.all
    assert ground.run("rollback").code == 0
    assert (ground.seen().current, ground.seen().settled) == (before.promoted, True)


def test_pressing_it_twice_is_no_worse_than_once(ground: Ground) -> None:
    tokens = ground.other_tokens()
    deploy = ground.start("deploy", "--tokens", tokens, inventory=ground.inventory(LONG_GATE))
    deploy.until("gate +measure 1/")
    deploy.interrupt()
    deploy.until("x gate")
    interrupted(deploy)
    ground.converge(tokens)


def test_a_bench_leaves_nothing_behind(ground: Ground) -> None:
    before = ground.seen()
    bench = ground.start("bench", "--max-tokens", "2000")
    bench.until(r"bench +(warm-up|1/)")
    assert "nothing was changed" in interrupted(bench).all
    assert ground.seen() == before


def test_following_the_log_ends_here_and_on_the_host(ground: Ground) -> None:
    before = ground.seen()
    logs = ground.start("logs", "--follow")
    logs.until("Application startup complete|GET /health")
    assert "the server runs on" in interrupted(logs).all
    assert ground.seen() == before
    eventually(lambda: not any(process.argv[:1] == ("tail",) for process in ground.lab.processes(CTID)), "tail's end")


def test_while_the_command_itself_is_being_loaded_it_is_told_too(ground: Ground) -> None:
    """The first second, in which one sees that it was the wrong host; a slow disk makes it long enough here."""
    status = ground.start("status", slow_to_load="playbooks.status")
    status.until("loading playbooks.status")
    interrupted(status)
