"""The inside of the lab's containers: a folder each, an sshd while it runs, and processes that end with it."""

import asyncio
import os
import re
import resource
import shutil
import signal
import sys
import sysconfig
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import asyncssh

from inventory.shell import command
from tests.lab import processes
from tests.lab.gpus import Gpus
from tests.lab.layout import Layout
from tests.lab.ports import Ports
from tests.lab.processes import Reaper
from tests.lab.sshd import Door, Machine
from tests.lab.traffic import Traffic

BOOT_S = 0.15
"""From the end of the start task until the container's network and sshd are up."""

_STANDINS = Path(__file__).parent / "standins"
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_USED_KIB = 3 * 1024**2
_SCRIPTS = {
    "apt-get": "echo 'Reading package lists... Done'",
    "systemctl": "echo 'System has not been booted with systemd as init system (PID 1). Can'\"'\"'t operate.' >&2\nexit 1",
    "cc": "echo 'cc (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0'",
}


def python_command(script: str, *words: str) -> str:
    """A shell's words to run a stand-in: isolated, without site-packages, so that it starts in milliseconds."""
    return command(_base_python(), "-IS", str(_STANDINS / script), *words)


def write_program(folder: Path, name: str, script: str) -> None:
    """A POSIX sh program."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    file.chmod(0o755)


def write_procfs(folder: Path) -> None:
    """A /proc that shows the real machine's, but for the boot id (new on each call) and what the lab puts in."""
    folder.mkdir(exist_ok=True)
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() and entry.name not in ("driver", "sys") and not (folder / entry.name).is_symlink():
            (folder / entry.name).symlink_to(entry)
    boot_id = folder / "sys/kernel/random/boot_id"
    boot_id.parent.mkdir(parents=True, exist_ok=True)
    boot_id.write_text(f"{uuid.uuid4()}\n")


def environment(layout: Layout, home: Path, ctid: int | None) -> dict[str, str]:
    """What sshd gives a command on one of the lab's machines."""
    marks = {processes.LAB: str(layout.folder)}
    if ctid is not None:
        marks[processes.CONTAINER] = str(ctid)
        marks["SPECRAIL_LAB_PACKAGES"] = sysconfig.get_paths()["purelib"]
    return {
        "PATH": f"{home / 'bin'}:{_SYSTEM_PATH}",
        "HOME": str(home / "root"),
        "TMPDIR": str(home / "tmp"),
        "USER": "root",
        "LOGNAME": "root",
        "SHELL": "/bin/sh",
        **marks,
    }


class Sandbox:
    """One container's sandbox. ctid names it; slot chooses its ports; `pid` is fakepve's of the run that it plays."""

    def __init__(self, layout: Layout, ctid: int, slot: int, ports: Ports, traffic: Traffic, reaper: Reaper) -> None:
        self.ctid = ctid
        self.slot = slot
        self.home = layout.container(ctid)
        self.address = "127.0.0.1"
        self.server_port = ports.server(slot)
        self.root_uid = os.getuid()
        self.pid: int | None = None
        self.network_wanted = True
        self._layout = layout
        self._boot: asyncio.Task[None] | None = None
        self.machine = Machine(
            name=f"ct{ctid}",
            home=self.home,
            environment=environment(layout, self.home, ctid),
            host_key=self.home / "etc/ssh/ssh_host_ed25519_key",
            authorized_keys=self.home / "root/.ssh/authorized_keys",
        )
        self.door = Door(self.machine, ports.container_ssh(slot), traffic, reaper)

    @property
    def full_mark(self) -> Path:
        """There while the container's disk is full."""
        return self.home / "etc/.disk-full"

    async def create(self, config: Mapping[str, Any], public_keys: str, gpus: Gpus) -> None:
        """Unpack the template: folders, host keys (new each time), who may log in, programs."""
        for folder in ("dev", "etc/ssh", "mnt", "opt", "proc", "root/.ssh", "tmp", "var/log"):
            (self.home / folder).mkdir(parents=True)
        (self.home / "root/.ssh").chmod(0o700)
        self.machine.authorized_keys.write_text(public_keys.strip() + "\n", encoding="utf-8")
        self.machine.authorized_keys.chmod(0o600)
        key = asyncssh.generate_private_key("ssh-ed25519", comment=f"root@{config.get('hostname', self.machine.name)}")
        key.write_private_key(str(self.machine.host_key))
        key.write_public_key(f"{self.machine.host_key}.pub")
        (self.home / "etc/hostname").write_text(f"{config.get('hostname', self.machine.name)}\n", encoding="utf-8")
        self._write_programs(config, gpus)

    async def boot(self, config: Mapping[str, Any], pid: int, gpus: Gpus) -> None:
        """Start: what the config gives is there at once, the network a moment later."""
        self.pid = pid
        write_procfs(self.home / "proc")
        shutil.rmtree(self.home / "dev")
        (self.home / "dev").mkdir()
        await self.apply(config, gpus)
        self._boot = asyncio.create_task(self._network_up())

    async def _network_up(self) -> None:
        await asyncio.sleep(BOOT_S)
        if self.network_wanted:
            await self.door.open()

    async def apply(self, config: Mapping[str, Any], gpus: Gpus) -> None:
        """Bring devices, mounts, the driver's version and programs in line; also for a running container."""
        for key, value in config.items():
            words = str(value).split(",")
            options = dict(word.partition("=")[::2] for word in words[1:])
            if key.startswith("dev") and key[3:].isdigit():
                node = self.home / words[0].removeprefix("path=").lstrip("/")
                node.parent.mkdir(parents=True, exist_ok=True)
                node.touch()
                node.chmod(int(options.get("mode", "0660"), 8))
            elif key.startswith("mp") and words[0].startswith("/"):
                self._bind(self._layout.node / words[0].lstrip("/"), self.home / options["mp"].lstrip("/"))
        module = self.home / "proc/driver/nvidia/version"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(gpus.module)
        self._write_programs(config, gpus)

    @staticmethod
    def _bind(source: Path, target: Path) -> None:
        if target.is_symlink():
            if target.readlink() == source:
                return  # who looks through it at this moment must not miss it
            target.unlink()
        elif target.is_dir() and not any(target.iterdir()):
            target.rmdir()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)

    def _write_programs(self, config: Mapping[str, Any], gpus: Gpus) -> None:
        folder = self.home / "bin"
        size_gib = next(
            (word[5:].rstrip("GT") for word in str(config["rootfs"]).split(",") if word[:5] == "size="), "8"
        )
        size_kib = int(float(size_gib) * 1024**2)
        df = python_command("df.py", str(size_kib), str(min(_USED_KIB, size_kib // 2)), str(self.full_mark))
        write_program(folder, "df", f'exec {df} "$@"')
        smi = python_command("nvidia_smi.py", self.machine.name, str(self._layout.folder))
        if gpus.state["userland"].get(self.machine.name, "as the driver") is None:
            (folder / "nvidia-smi").unlink(missing_ok=True)
        else:
            write_program(folder, "nvidia-smi", f'exec {smi} "$@"')
        write_program(folder, "python3", f'exec {command(_base_python())} "$@"')
        write_program(folder, "hostname", f"echo {command(str(config.get('hostname', self.machine.name)))}")
        for name, script in _SCRIPTS.items():
            write_program(folder, name, script)

    async def halt(self, *, grace_s: float = 0) -> None:
        """Stop: no more sshd, no more processes. With grace_s the processes are asked first (shutdown, reboot)."""
        if self._boot:
            self._boot.cancel()
        self.pid = None
        await self.door.close()
        await processes.end(self._layout.folder, self.ctid, grace_s=grace_s)

    async def destroy(self) -> None:
        """The container and its disk are gone."""
        await self.halt()
        await asyncio.to_thread(shutil.rmtree, self.home)

    async def fill_disk(self, on: bool) -> None:
        """df shows no space and no file can grow."""
        self.machine.disk_full = on
        if on:
            self.full_mark.touch()
        else:
            self.full_mark.unlink(missing_ok=True)
        for process in processes.of_lab(self._layout.folder, self.ctid):
            if processes.ignores(process.pid, signal.SIGXFSZ):  # any other would be killed, not refused
                _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0 if on else hard, hard))

    def become(self, argv: list[str]) -> dict[str, Any]:
        """What `pct exec` turns into: argv, cwd and environment."""
        return {
            "argv": [inside(word, self.home, self._layout.folder) for word in argv],
            "cwd": str(self.home / "root"),
            "environment": dict(self.machine.environment),
        }

    def place(self, path: str) -> Path:
        """Where a path of the container is; the inventory's paths lie in its sandbox already."""
        return Path(path) if path.startswith(f"{self.home}/") else self.home / path.lstrip("/")


def inside(word: str, home: Path, lab: Path) -> str:
    """A word of a command with the container's own /etc/ssh, /etc/hostname and /root in place of this machine's.

    home: the container's folder; lab: the practice ground's, whose paths stay as they are, also where it is below /root
    """
    ours = "|".join(map(re.escape, ("/etc/ssh", "/etc/hostname", "/root")))
    # A path is meant where it begins so, not where it is a part of a longer one.
    begins = rf"(?<![\w./-])(?:(?P<lab>{re.escape(str(lab))})|{ours})(?![\w.-])"
    return re.sub(begins, lambda path: path[0] if path["lab"] else f"{home}{path[0]}", word)


def _base_python() -> str:
    """The interpreter below this process's virtual environment, which a container's own python3 stands for."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))
