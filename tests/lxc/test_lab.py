"""The real containers of the practice ground: life, death, network, disk, and nothing left of any of it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.survival.ground import eventually
from tests.lab import processes
from tests.lab.ground import Lab
from tests.lab.lxc.bed import control_group
from tests.lxc.ground import LxcGround
from tests.unit.lab import clients

CTID = 131


@pytest.fixture
def box(practice: LxcGround) -> Iterator[LxcGround]:
    """The ground with a running container of these tests' own, of another kind than the deployed one: privileged, DHCP."""
    if f"ct{CTID}" not in practice.lab.status()["containers"]:
        clients.create(practice.lab, CTID, as_root=True, unprivileged=0)
        clients.start(practice.lab, CTID)
    yield practice
    for name in ("ssh-down", "ssh-frozen", "disk-full"):
        practice.lab.fault(name, on=False, ctid=CTID)


def keys(ground: LxcGround) -> str:
    """The container's ssh host keys, as its node reads them."""
    return ground.node("pct", "exec", str(CTID), "--", "cat", "/etc/ssh/ssh_host_ed25519_key.pub").out


def test_a_privileged_container_is_one_and_its_cgroup_still_refuses_devices(box: LxcGround) -> None:
    assert box.inside("cat /proc/self/uid_map", CTID).out.split()[:2] == ["0", "0"]
    opened = box.inside("mknod /root/nvidia0 c 195 0 && head -c 1 /root/nvidia0", CTID)
    assert "Operation not permitted" in opened.err


def test_it_answers_at_its_address_with_the_keys_that_the_node_reads(box: LxcGround) -> None:
    eventually(lambda: box.ssh("true", CTID).status == 0, "sshd answers")
    assert box.ssh("cat /etc/ssh/ssh_host_ed25519_key.pub; hostname", CTID).out == f"{keys(box)}ct{CTID}\n"


def test_it_stops_starts_and_keeps_its_disk(box: LxcGround) -> None:
    box.inside("echo kept >/root/note", CTID)
    boot = box.inside("cat /proc/sys/kernel/random/boot_id", CTID).out
    assert box.node("pct", "shutdown", str(CTID)).status == 0
    assert "not running" in box.node("pct", "exec", str(CTID), "--", "true").err
    assert box.lab.processes(CTID) == []
    assert box.node("pct", "start", str(CTID)).status == 0
    assert box.inside("cat /root/note", CTID).out == "kept\n"
    assert box.inside("cat /proc/sys/kernel/random/boot_id", CTID).out != boot


def test_files_come_and_go_through_the_node(box: LxcGround, tmp_path: Path) -> None:
    (tmp_path / "here").write_text("hello")
    assert box.node("pct", "push", str(CTID), str(tmp_path / "here"), "/root/there", "--perms", "0600").status == 0
    assert box.inside("stat -c %a:%u /root/there; cat /root/there", CTID).out == "600:0\nhello"
    assert box.node("pct", "pull", str(CTID), "/root/there", str(tmp_path / "back")).status == 0
    assert (tmp_path / "back").read_text() == "hello"


def test_a_full_disk_is_the_kernels(box: LxcGround) -> None:
    box.lab.fault("disk-full", ctid=CTID)
    said = box.inside("head -c 1000000 /dev/zero >/root/big; df -Pk / | awk 'NR == 2 { print $4 }'", CTID)
    assert "No space left on device" in said.err
    assert said.out == "0\n"
    box.lab.fault("disk-full", on=False, ctid=CTID)
    assert box.inside("head -c 1000000 /dev/zero >/root/big", CTID).status == 0


@pytest.mark.parametrize("fault", ["ssh-down", "ssh-frozen"])
def test_its_network_can_be_taken_away(box: LxcGround, fault: str) -> None:
    box.lab.fault(fault, ctid=CTID)
    assert box.ssh("true", CTID).status == 255
    assert box.inside("true", CTID).status == 0
    box.lab.fault(fault, on=False, ctid=CTID)
    eventually(lambda: box.ssh("true", CTID).status == 0, "sshd answers again")


def test_a_stranger_can_take_the_engines_port(box: LxcGround) -> None:
    box.lab.fault("port-taken", ctid=CTID)
    ask = "python3 -c \"import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health')\""
    assert "404" in box.inside(ask, CTID).err
    box.lab.fault("port-taken", on=False, ctid=CTID)
    assert "refused" in box.inside(ask, CTID).err


def test_a_new_container_has_new_host_keys(box: LxcGround) -> None:
    before = keys(box)
    assert box.node("pct", "destroy", str(CTID), "--force").status == 0
    assert f"ct{CTID}" not in box.lab.status()["containers"]
    clients.create(box.lab, CTID)
    clients.start(box.lab, CTID)
    eventually(lambda: keys(box) not in ("", before), "it has keys of its own")


def left_of(lab: Lab) -> list[str]:
    """What there is on this machine of a lab that is down."""
    groups = [path for top in ("", "unified") for path in Path("/sys/fs/cgroup", top).glob(control_group(lab.layout))]
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(lab.layout.folder) in line]
    return [*map(str, groups), *mounts, *map(str, processes.of_lab(lab.layout.folder))]


def links() -> set[str]:
    """Our ends of the labs' network links."""
    return {path.name for path in Path("/sys/class/net").glob("specrail-lab*")}


@pytest.mark.parametrize("ending", ["down", "killed"])
def test_nothing_is_left_of_it(practice: LxcGround, tmp_path: Path, ending: str) -> None:
    before = links()
    lab = Lab(tmp_path / "lab", containers="lxc")
    lab.up(leashed=True)
    clients.create(lab)
    clients.start(lab)
    (link,) = links() - before
    assert link not in before  # beside the lab of all these tests
    assert left_of(lab)
    if ending == "killed":
        os.kill(lab.status()["pid"], signal.SIGKILL)
        eventually(lambda: links() == before, "the link goes with the one who laid it")
    lab.down()
    assert left_of(lab) == []
    assert links() == before
    assert {path.name for path in lab.layout.folder.iterdir()} <= {"daemon.lock", "lab.json", "log"}


def test_a_lab_of_the_other_kind_is_not_taken_for_this_one(practice: LxcGround) -> None:
    words = ["-m", "invoke", "lab.up", "--folder", str(practice.lab.layout.folder)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "a practice ground with lxc containers runs in" in done.stderr
