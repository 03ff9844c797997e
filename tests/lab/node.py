"""The node's side of the lab: its sandbox, its programs, its devices."""

import os
import shutil
import stat
from collections.abc import Callable

import asyncssh

from tests.lab.container import environment, python_command, write_procfs, write_program
from tests.lab.gpus import Gpus
from tests.lab.layout import MODELS, NODE, Layout
from tests.lab.sshd import Machine

Number = Callable[[str], tuple[int, int]]
"""Major and minor number of a device by its name below /dev."""


def make(layout: Layout, gpus: Gpus, number: Number | None = None) -> Machine:
    """Make the node's sandbox, its host key, and the key that opens it."""
    home = layout.node
    for folder in ("bin", "root/.ssh", "tmp", MODELS.lstrip("/")):
        (home / folder).mkdir(parents=True)
    host_key = layout.keys / "node_host_ed25519"
    for path, comment in ((host_key, f"root@{NODE}"), (layout.login_key, "practice ground")):
        key = asyncssh.generate_private_key("ssh-ed25519", comment=comment)
        key.write_private_key(str(path))
        path.chmod(0o600)
        key.write_public_key(f"{path}.pub")
    shutil.copyfile(f"{layout.login_key}.pub", home / "root/.ssh/authorized_keys")
    pct = python_command("pct.py", str(layout.control))
    smi = python_command("nvidia_smi.py", NODE, str(layout.folder))
    programs = {
        "pct": f'exec {pct} "$@"',
        "nvidia-smi": f'exec {smi} "$@"',
        "hostname": f"echo {NODE}",
        "pveversion": "echo 'pve-manager/9.0.10/deb1ca707ec72a89 (running kernel: 6.14.11-3-pve)'",
    }
    for name, script in programs.items():
        write_program(home / "bin", name, script)
    write_procfs(home / "proc")
    write_devices(layout, gpus, number)
    return Machine(
        name=NODE,
        home=home,
        environment=environment(layout, home, None),
        host_key=host_key,
        authorized_keys=home / "root/.ssh/authorized_keys",
    )


def write_devices(layout: Layout, gpus: Gpus, number: Number | None) -> None:
    """Bring the node's device nodes and the driver's version in line with the GPUs.

    With their numbers they are real ones, which needs root; else empty files.
    """
    devices = layout.node / "dev"
    shutil.rmtree(devices, ignore_errors=True)
    (devices / "nvidia-caps").mkdir(parents=True)
    for name in (*gpus.devices, "nvidia-caps/nvidia-cap1", "nvidia-caps/nvidia-cap2"):
        if number:
            os.mknod(devices / name, stat.S_IFCHR, os.makedev(*number(name)))
        else:
            (devices / name).touch()
        (devices / name).chmod(0o666)
    module = layout.node / "proc/driver/nvidia/version"
    module.parent.mkdir(parents=True, exist_ok=True)
    module.write_text(gpus.module)
