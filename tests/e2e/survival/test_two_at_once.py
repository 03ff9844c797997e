"""Two people at once: one wins, the other is told who; and no lock outlives its owner for long."""

import json
import time
from pathlib import Path

from tests.e2e.survival.ground import HOST, Ground, eventually
from tests.e2e.survival.inventories import QUICK
from tests.e2e.survival.on_host import OnHost

LOCKED = 5

STRANGER = {
    "who": "berta",
    "controller": "bertas-laptop",
    "controller_boot": "another machine's",
    "pid": 1,
    "operation": "0123456789",
    "verb": "rollback",
    "nonce": "0123456789",
}


def leave_a_lock(ground: Ground, *, lease_s: int) -> None:
    """As somebody on another machine would hold it, with a lease that ends in so many seconds."""
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    expires = int(time.time()) + lease_s
    folder = ground.base / "lock"
    folder.mkdir(exist_ok=True)
    (folder / "details.json").write_text(json.dumps({**STRANGER, "boot_id": boot_id, "expires": expires}))


def drop_the_lock(ground: Ground) -> None:
    """As its owner would."""
    (ground.base / "lock/details.json").unlink()
    (ground.base / "lock").rmdir()


def test_the_second_is_told_who_is_at_work_and_breaks_nothing(ground: Ground) -> None:
    tokens = ground.other_tokens()
    with ground.held_state():  # so that the first one is not done before the others have come
        first = ground.start("deploy", "--tokens", tokens)
        eventually(lambda: ground.runs("control.sh activate"), "the first one's switch")
        late = [ground.start("deploy", "--tokens", "2"), ground.start("rollback", "--to", str(ground.seen().promoted))]
        for ended in [command.end() for command in late]:
            assert ended.code == LOCKED, ended.all
            assert "locked by" in ended.all
            assert ": deploy" in ended.all
    won = first.end()
    assert won.code == 0, won.all
    assert ground.seen().settled
    assert ground.tokens_of(ground.seen().current) == int(tokens)


def test_two_who_make_the_same_container_make_one(bare: Ground) -> None:
    inventory = bare.inventory()
    deploys = [bare.start("deploy", "--tokens", "15", inventory=inventory) for _ in range(2)]
    ended = [deploy.end() for deploy in deploys]
    assert min(one.code for one in ended) == 0, [one.all for one in ended]
    for one in ended:
        assert one.code in {0, LOCKED}, one.all
    bare.converge("15")


def test_two_hosts_at_once_do_not_meet(ground: Ground) -> None:
    tokens = ground.other_tokens()
    deploys = [
        ground.start("deploy", "--tokens", tokens, "--host", host, inventory=ground.inventory())
        for host in (HOST, "ct130")
    ]
    for deploy in deploys:
        ended = deploy.end()
        assert ended.code == 0, ended.all
    for host in (ground, OnHost(ground.lab, 130)):
        assert host.seen().settled
        assert host.serves()


def test_a_lock_from_another_machine_counts_while_its_lease_lasts(ground: Ground) -> None:
    before = ground.seen()
    leave_a_lock(ground, lease_s=60)
    ended = ground.run("deploy", "--tokens", ground.other_tokens())
    assert ended.code == LOCKED
    assert "locked by berta at bertas-laptop: rollback" in ended.all
    assert "Its lease ends in" in ended.all
    drop_the_lock(ground)
    assert ground.seen() == before


def test_a_lock_from_another_machine_is_taken_over_when_its_lease_is_over(ground: Ground) -> None:
    leave_a_lock(ground, lease_s=-1)
    ground.converge(ground.other_tokens())


def test_who_lost_the_lock_while_the_host_was_out_of_reach_switches_nothing(ground: Ground) -> None:
    before = ground.seen()
    with ground.held_build():
        deploy = ground.start("deploy", inventory=ground.inventory(QUICK | ground.another_build()))
        deploy.until("engine +lock")
        leave_a_lock(ground, lease_s=60)
    ended = deploy.end()
    assert ended.code == LOCKED, ended.all
    assert "somebody else has taken over the lock; nothing was switched" in ended.all
    after = ground.seen()
    assert after.lock is not None
    assert after.lock["who"] == "berta"
    assert (after.current, after.promoted, after.pending) == (before.current, before.promoted, None)
    drop_the_lock(ground)
