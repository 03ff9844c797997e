"""Only what is ours goes, and it goes whole."""

import pytest

from inventory.errors import ConnectionLost, GuestLocked, NotFound, PreflightError
from roles.container import destroy, facts
from roles.container.steps import Destroy
from tests.unit.container.ground import prepare
from tests.unit.fake_node import Connect, FakeNode

MARK = "Made by specrail\n\nspecrail host: ct129\n"
PATH = "/nodes/pve1/lxc/129"


@pytest.fixture(autouse=True)
def ground(fake: FakeNode) -> None:
    prepare(fake)
    fake.add_ct(
        129, "ct129", status="running", config={"tags": "specrail", "description": MARK, "mp0": "/tank,mp=/tank"}
    )


def remove(fake: FakeNode, connect: Connect) -> list[str]:
    pve = connect(sleep=lambda _: fake.unlock(129) if fake.ct(129) else None)
    step = destroy.plan("ct129", facts.read(pve, 129))
    lines: list[str] = []
    assert isinstance(step, Destroy)
    destroy.destroy(step, pve, lines.append)
    return lines


def test_a_running_container_is_stopped_and_removed(fake: FakeNode, connect: Connect) -> None:
    remove(fake, connect)
    assert fake.ct(129) is None
    writes = [(method, path) for method, path, _ in fake.requests if method != "GET"]
    assert writes == [("POST", f"/api2/json{PATH}/status/stop"), ("DELETE", f"/api2/json{PATH}")]


def test_it_leaves_backup_jobs_and_high_availability(fake: FakeNode, connect: Connect) -> None:
    fake.ct(129).ha_state = "stopped"
    fake.ct(129).status = "stopped"
    remove(fake, connect)
    assert fake.ct(129) is None


def test_what_would_be_lost_is_shown(connect: Connect) -> None:
    step = destroy.plan("ct129", facts.read(connect(), 129))
    assert step.diff == (("rootfs", "local-lvm:vm-129-disk-0,size=8G", None),)
    assert step.summary == "destroy container 129 (ct129)"
    assert step.note is not None
    assert "folders of the node stay" in step.note


def test_one_that_is_gone_is_fine(fake: FakeNode, connect: Connect) -> None:
    fake.cts.clear()
    step = destroy.plan("ct129", facts.read(connect(), 129))
    assert not step.changes
    assert step.summary == "container 129 is gone already"


def test_one_that_went_meanwhile_is_fine(fake: FakeNode, connect: Connect) -> None:
    pve = connect()
    step = destroy.plan("ct129", facts.read(pve, 129))
    fake.cts.clear()
    assert isinstance(step, Destroy)
    destroy.destroy(step, pve, lambda _: None)


def test_one_that_stopped_meanwhile_is_fine(fake: FakeNode, connect: Connect) -> None:
    pve = connect()
    step = destroy.plan("ct129", facts.read(pve, 129))
    fake.ct(129).status = "stopped"
    assert isinstance(step, Destroy)
    destroy.destroy(step, pve, lambda _: None)
    assert fake.ct(129) is None


def test_a_foreign_container_stays(fake: FakeNode, connect: Connect) -> None:
    fake.ct(129).config["tags"] = "prod"
    with pytest.raises(PreflightError, match="not ours: it has no tag specrail"):
        destroy.plan("ct129", facts.read(connect(), 129))


def test_another_hosts_container_stays(connect: Connect) -> None:
    with pytest.raises(PreflightError, match="was made for the host ct129, not for llama"):
        destroy.plan("llama", facts.read(connect(), 129))


def test_a_protected_container_stays_and_the_message_says_how(fake: FakeNode, connect: Connect) -> None:
    fake.ct(129).config["protection"] = 1
    with pytest.raises(PreflightError, match="protected against removal") as refused:
        destroy.plan("ct129", facts.read(connect(), 129))
    assert refused.value.tries[0].startswith("pct set 129 --protection 0")


def test_a_lock_is_waited_for(fake: FakeNode, connect: Connect) -> None:
    fake.snapshot_lock(129, "backup")
    assert "CT is locked (backup): waiting for it, up to 300 s" in remove(fake, connect)
    assert fake.ct(129) is None


def test_a_lock_that_stays_is_reported(fake: FakeNode, connect: Connect) -> None:
    now = iter(range(0, 100000, 100))
    pve = connect(clock=lambda: float(next(now)))
    step = destroy.plan("ct129", facts.read(pve, 129))
    fake.ct(129).status = "stopped"
    fake.snapshot_lock(129, "backup")
    assert isinstance(step, Destroy)
    with pytest.raises(GuestLocked):
        destroy.destroy(step, pve, lambda _: None)


def test_a_removal_that_cannot_be_confirmed_is_reported(fake: FakeNode, connect: Connect) -> None:
    fake.fail("DELETE", PATH, 596, "Connection timed out")
    with pytest.raises(ConnectionLost):
        remove(fake, connect)


def test_a_wrong_node_is_not_an_absence(fake: FakeNode, connect: Connect) -> None:
    pve = connect()
    step = destroy.plan("ct129", facts.read(pve, 129))
    pve.node = "pve7"
    assert isinstance(step, Destroy)
    with pytest.raises(NotFound):
        destroy.destroy(step, pve, lambda _: None)
    assert fake.ct(129) is not None
