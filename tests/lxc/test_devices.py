"""GPU devices in a real container: what the inventory gives can be opened, and the kernel refuses everything else."""

import errno
import os
import stat
from pathlib import Path

import pytest

from tests.lab.lxc import config
from tests.lxc.ground import LxcGround

# There is no driver behind these numbers: ENXIO is what a device that may be opened says here.
ALLOWED = errno.ENXIO
REFUSED = errno.EPERM


def opened(ground: LxcGround, path: str, flags: str = "O_RDWR") -> int:
    """How opening a device in the container ends: an errno, or 0."""
    program = (
        f"import os\\ntry: os.open('{path}', os.{flags})\\nexcept OSError as error: print(error.errno)\\nelse: print(0)"
    )
    return int(ground.inside(f'printf "{program}" | python3').out)


@pytest.mark.parametrize("name", ["nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"])
def test_what_the_inventory_gives_can_be_opened(ground: LxcGround, name: str) -> None:
    assert opened(ground, f"/dev/{name}") == ALLOWED
    assert ground.inside(f"stat -c %a:%t:%T /dev/{name}").out.strip() == "666:{:x}:{:x}".format(*config.number(name))


def test_gpus_of_others_are_not_there(ground: LxcGround) -> None:
    assert opened(ground, "/dev/nvidia2") == errno.ENOENT
    assert [gpu.split(",")[0] for gpu in ground.inside("nvidia-smi --query-gpu=uuid --format=csv,noheader").out.split()]
    assert ground.inside("mknod /tmp/nvidia2 c 195 2").status != 0


def test_a_node_alone_opens_nothing(ground: LxcGround) -> None:
    """A device node that got in without its dev[n] is refused by the kernel, and the question that we ask sees it."""
    root = Path(f"/proc/{ground.init()}/root/opt")
    for name, expected in (("nvidia0", ALLOWED), ("nvidia2", REFUSED)):
        os.mknod(root / name, stat.S_IFCHR, os.makedev(*config.number(name)))
        (root / name).chmod(0o666)
        assert opened(ground, f"/opt/{name}") == expected
        assert (ground.inside(f"test -r /opt/{name} && test -w /opt/{name}").status == 0) == (expected == ALLOWED)
        (root / name).unlink()


def test_the_models_are_there_and_cannot_be_written(ground: LxcGround) -> None:
    assert ground.inside("test -s /mnt/models/Qwen3.6-27B-DFlash/model.safetensors").status == 0
    assert "Read-only file system" in ground.inside("touch /mnt/models/new").err
    assert ground.inside("cat /proc/self/uid_map").out.split() == ["0", "100000", "65536"]


def test_the_driver_shows_where_a_real_one_does(ground: LxcGround) -> None:
    assert "580.95.05" in ground.inside("cat /proc/driver/nvidia/version").out
    ground.lab.fault("gpu-mismatch", ctid=129)
    plan = ground.run("plan", "--tokens", str(ground.tokens_of(ground.seen().current)))
    ground.lab.fault("gpu-mismatch", on=False, ctid=129)
    assert plan.code == 1, plan.all
    assert "565.57.01" in plan.all
    assert "580.95.05" in plan.all
