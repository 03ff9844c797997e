"""A container is read through the API, and one that is not there is an answer."""

import pytest

from inventory.errors import NotFound, PermissionDenied
from roles.container.facts import ContainerFacts, parse, read
from tests.unit.fake_node import TOKEN, Connect, FakeNode


def test_a_container_is_read(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129, "ct129", status="running", config={"cores": 4, "tags": "prod;specrail"})
    have = read(connect(), 129)
    assert (have.status, have.running, have.missing, have.ours) == ("running", True, False, True)
    assert have.config["cores"] == "4"
    assert have.config["rootfs"] == "local-lvm:vm-129-disk-0,size=8G"
    assert have.digest == fake.ct(129).digest()
    assert not {"digest", "lock", "lxc"} & set(have.config)


def test_what_waits_for_the_next_start_is_told_apart(fake: FakeNode, connect: Connect) -> None:
    config = {"nameserver": "1.1.1.1", "dev0": "/dev/net/tun"}
    fake.add_ct(
        129, status="running", config=config, pending={"nameserver": "9.9.9.9", "dev0": None, "timezone": "UTC"}
    )
    have = read(connect(), 129)
    assert (have.config["nameserver"], have.config["dev0"]) == ("1.1.1.1", "/dev/net/tun")
    assert have.pending == {"nameserver": "9.9.9.9", "dev0": None, "timezone": "UTC"}
    assert (have.next_config["nameserver"], have.next_config["timezone"]) == ("9.9.9.9", "UTC")
    assert "dev0" not in have.next_config


def test_raw_keys_and_a_lock_are_read() -> None:
    have = parse(
        129,
        {"lxc": [["lxc.prlimit.memlock", "unlimited"], ["lxc.mount.entry", "/a a none bind 0 0"]], "lock": "backup"},
        [],
        {"status": "stopped"},
    )
    assert have.raw == (("lxc.prlimit.memlock", "unlimited"), ("lxc.mount.entry", "/a a none bind 0 0"))
    assert have.lock == "backup"


def test_a_container_that_is_nowhere_is_missing(connect: Connect) -> None:
    assert read(connect(), 129) == ContainerFacts(129)


def test_a_container_on_another_node_has_an_owner(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129, "db", node="pve2")
    have = read(connect(), 129)
    assert have.missing
    assert have.owner == "CT 129 (db) on pve2"


def test_a_machine_with_the_id_is_its_owner(fake: FakeNode, connect: Connect) -> None:
    fake.add_vm(129, "db", node="pve2")
    assert read(connect(), 129).owner == "VM 129 (db) on pve2"


def test_a_container_that_may_not_be_seen_is_not_called_missing(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129, "db")
    fake.grant(TOKEN, "/nodes/pve1", "Sys.Audit")
    with pytest.raises(PermissionDenied, match=r"/vms/129, VM\.Audit"):
        read(connect(), 129)


def test_rights_of_a_pool_do_not_reach_an_id_that_is_free(fake: FakeNode, connect: Connect) -> None:
    fake.grant(TOKEN, "/pool/llm", "VM.Audit", "VM.Allocate")
    assert read(connect(), 129) == ContainerFacts(129)


def test_a_wrong_node_is_not_a_missing_container(fake: FakeNode, connect: Connect) -> None:
    pve = connect()
    pve.node = "pve7"
    with pytest.raises(NotFound, match="pve7"):
        read(pve, 129)


def test_a_running_create_is_found(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129, defaults=False, config={"lock": "create"})
    old, _, _ = fake._upid("pve1", "vzcreate", 129, TOKEN)
    new, _, start = fake._upid("pve1", "vzcreate", 129, TOKEN)
    for upid, done in (
        (old, {"status": "stopped", "exitstatus": "OK", "endtime": start}),
        (new, {"status": "running"}),
    ):
        task = {
            "upid": upid,
            "node": "pve1",
            "type": "vzcreate",
            "id": "129",
            "user": TOKEN,
            "starttime": start,
            "log": [],
            **done,
        }
        fake.tasks[upid] = task
        fake.tasklog.append(task)
    have = read(connect(), 129)
    assert (have.lock, have.creating) == ("create", new)


def test_a_create_that_died_has_no_task(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129, defaults=False, config={"lock": "create"})
    have = read(connect(), 129)
    assert (have.lock, have.creating) == ("create", None)
