"""One real LXC container: what the lab's node does to it."""

import asyncio
import json
import os
import platform
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import asyncssh

from tests.lab import processes
from tests.lab.gpus import Gpus
from tests.lab.layout import Layout
from tests.lab.lxc import config as configs
from tests.lab.lxc.bed import BASE, Bed, LxcError, control_group
from tests.lab.lxc.needs import PATH

SERVER_PORT = 8000
SHARED = "/var/lib/specrail-lab"
"""Where a container sees what the lab shows it."""

_COMMON = Path("/usr/share/lxc/config/common.conf")
_STANDINS = Path(__file__).parents[1] / "standins"
_STOP_S = 30
"""How long a container that was asked to stop may take."""


class Line:
    """The container's real sshd, seen from its network link."""

    port = 22

    def __init__(self, box: "LxcBox") -> None:
        self._box = box
        self._frozen = False

    @property
    def state(self) -> str:
        """closed, open or frozen."""
        if self._box.pid is None or not (self._box.network_wanted or self._frozen):
            return "closed"
        return "frozen" if self._frozen else "open"

    async def open(self) -> None:
        """The link is up and sshd runs on."""
        self._frozen = False
        if self._box.pid is not None:
            await self._box.link("up")
            await self._box.signal_sshd("CONT")

    async def close(self) -> None:
        """The cable is out: what was open hangs."""
        self._frozen = False
        if self._box.pid is not None:
            await self._box.link("down")

    async def freeze(self) -> None:
        """Every sshd is stopped; the kernel goes on accepting."""
        self._frozen = True
        if self._box.pid is not None:
            await self._box.signal_sshd("STOP")


class LxcBox:
    """One container. Its disk is a tmpfs of the configured size, its folder in the lab's is what it can see of the lab."""

    def __init__(self, layout: Layout, ctid: int, slot: int, bed: Bed, root_tar: Path) -> None:
        self.ctid = ctid
        self.slot = slot
        self.pid: int | None = None
        self.network_wanted = True
        self.root_uid = 0
        self.server_port = SERVER_PORT
        self.door = Line(self)
        self._layout = layout
        self._bed = bed
        self._root_tar = root_tar
        self._home = layout.container(ctid)
        self._folder = f"{BASE}/{ctid}"

    @property
    def address(self) -> str:
        """Its address on the bed's network."""
        return self._bed.network.container(self.slot)

    @property
    def _name(self) -> str:
        return f"ct{self.ctid}"

    @property
    def _rootfs(self) -> Path:
        return self._bed.inside / str(self.ctid) / "rootfs"

    async def create(self, config: Mapping[str, Any], public_keys: str, gpus: Gpus) -> None:
        """Unpack the root file system, as its own root would; host keys, programs and the login key are put in."""
        wanted = configs.read(config)
        self.root_uid = wanted.root_uid
        self._home.mkdir(mode=0o755)
        await self._bed.run(
            "mkdir", "-p", f"{self._folder}/rootfs", f"{self._folder}/devices", f"{self._folder}/shared"
        )
        size = f"size={wanted.disk_gib * 1024:.0f}M,mode=755"
        await self._bed.run("mount", "-t", "tmpfs", "-o", size, f"lab-{self.ctid}", f"{self._folder}/rootfs")
        await self._bed.run("mount", "--bind", str(self._home), f"{self._folder}/shared")
        os.chown(self._rootfs, self.root_uid, self.root_uid)
        unpack = [
            "tar",
            "--numeric-owner",
            "--anchored",
            "--exclude=./dev/*",
            "-C",
            f"{self._folder}/rootfs",
            "-xpf",
            "-",
        ]
        if not wanted.privileged:
            unpack = ["lxc-usernsexec", "-m", f"b:0:{configs.FIRST_UID}:65536", "--", *unpack]
        await self._bed.run(*unpack, stdin=self._root_tar)
        for kind in ("ed25519", "ecdsa"):
            name = f"ssh-{kind}" if kind == "ed25519" else "ecdsa-sha2-nistp256"
            key = asyncssh.generate_private_key(name, comment=f"root@{wanted.hostname}")
            self._put(f"etc/ssh/ssh_host_{kind}_key", key.export_private_key(), 0o600)
            self._put(f"etc/ssh/ssh_host_{kind}_key.pub", key.export_public_key())
        self._put("root/.ssh/authorized_keys", public_keys.strip().encode() + b"\n", 0o600)
        self._put("etc/hostname", f"{wanted.hostname}\n".encode())
        self._put("etc/hosts", f"127.0.0.1 localhost\n127.0.1.1 {wanted.hostname}\n".encode())
        # The stand-in nvidia-smi finds the lab's engines by these; systemd gives them to every service.
        marks = f"{processes.LAB}={SHARED} {processes.CONTAINER}={self.ctid}"
        self._put("etc/systemd/system.conf.d/specrail-lab.conf", f"[Manager]\nDefaultEnvironment={marks}\n".encode())
        (self._home / self._name).mkdir()
        (self._home / self._name / "dev").symlink_to("/dev")
        shutil.copyfile(_STANDINS / "nvidia_smi.py", self._home / "nvidia_smi.py")
        self._show_gpus(gpus)

    async def boot(self, config: Mapping[str, Any], pid: int, gpus: Gpus) -> None:
        """Start it, with the devices and mounts of its config."""
        wanted = configs.read(config)
        self._show_gpus(gpus)
        await self._bind(wanted)
        numbers = {device.path: self._make(device) for device in wanted.devices}
        marks = {processes.LAB: str(self._layout.folder), processes.CONTAINER: str(self.ctid)}
        network = self._bed.network
        config_text = configs.text(
            wanted,
            folder=self._folder,
            group=f"{control_group(self._layout)}/{self.ctid}",
            link=f"v{self.ctid}",
            address=network.with_prefix(self.address),
            gateway=network.bridge,
            marks=marks,
            numbers=numbers,
            binds=((f"{self._folder}/shared", SHARED), (f"{self._folder}/shared/driver", "/proc/driver")),
            common=_COMMON.read_text(encoding="utf-8"),
        )
        (self._bed.inside / str(self.ctid) / "config").write_text(config_text, encoding="utf-8")
        await self._lxc("lxc-start", "-l", "INFO", "-o", str(self._layout.logs / f"{self._name}.log"))
        self.pid = pid
        await self._bed.forget_neighbour(self.address)
        if not self.network_wanted:
            await self.link("down")

    async def apply(self, config: Mapping[str, Any], gpus: Gpus) -> None:
        """Show it the GPUs as they are now. Devices and mounts come with the next start."""
        self._show_gpus(gpus)

    async def halt(self, *, grace_s: float = 0) -> None:
        """Stop it: systemd stops its services, if there is grace."""
        if self.pid is None:
            return
        self.pid = None
        await self._lxc("lxc-stop", *(("-t", str(_STOP_S)) if grace_s else ("-k",)))

    async def destroy(self) -> None:
        """Nothing of it is left."""
        await self.halt()
        mounts = await self._bed.run("findmnt", "--noheadings", "--list", "--output", "TARGET")
        for target in sorted((line for line in mounts.split() if line.startswith(f"{self._folder}/")), reverse=True):
            await self._bed.run("umount", target)
        await self._bed.run("rm", "-rf", "--one-file-system", self._folder)
        await asyncio.to_thread(shutil.rmtree, self._home)

    async def fill_disk(self, on: bool) -> None:
        """Shrink the disk to what is on it, or let it grow again: the kernel says ENOSPC."""
        size = "0" if on else "64G"
        if on:
            used = await self._bed.run("df", "--block-size=1K", "--output=used", f"{self._folder}/rootfs")
            size = f"{int(used.split()[-1])}k"
        await self._bed.run("mount", "-o", f"remount,size={size}", f"{self._folder}/rootfs")

    async def take_port(self, on: bool) -> None:
        """Let a stranger listen on the engine's port, and answer 404."""
        if not on:
            await self.attach("systemctl", "stop", "stranger.service")
            return
        serve = ("python3", "-m", "http.server", "--bind", "127.0.0.1", "--directory", "/mnt", str(SERVER_PORT))
        await self.attach("systemd-run", "--quiet", "--collect", "--unit=stranger", *serve)
        listens = f'until ss -Hltn "sport = :{SERVER_PORT}" | grep -q .; do sleep 0.05; done'
        await self.attach("timeout", "10", "sh", "-c", listens)

    def become(self, argv: list[str]) -> dict[str, Any]:
        """What `pct exec` turns into."""
        environment = {"PATH": PATH, processes.LAB: str(self._layout.folder)}
        return {"argv": self._bed.argv(*self._attach(*argv)), "cwd": "/", "environment": environment}

    def place(self, path: str) -> Path:
        """Where a path of its disk is on this machine."""
        return self._rootfs / path.lstrip("/")

    async def attach(self, *argv: str) -> str:
        """Run a command in it. Raises LxcError."""
        return await self._bed.run(*self._attach(*argv))

    async def signal_sshd(self, name: str) -> None:
        """Signal every sshd, if there is one yet."""
        await self.attach("sh", "-c", 'pkill "-$0" -x sshd || :', name)

    async def link(self, state: str) -> None:
        """Plug its cable in or pull it: up or down."""
        await self._bed.run("ip", "link", "set", f"v{self.ctid}", state)

    def _attach(self, *argv: str) -> tuple[str, ...]:
        home = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        given = ("--clear-env", "--set-var", f"PATH={home}", "--set-var", "HOME=/root", "--set-var", "LC_ALL=C.UTF-8")
        return ("lxc-attach", "-P", BASE, "-n", str(self.ctid), *given, "--", *argv)

    async def _lxc(self, program: str, *words: str) -> None:
        await self._bed.run(program, "-P", BASE, "-n", str(self.ctid), *words)

    async def _bind(self, wanted: configs.Wanted) -> None:
        """Show the mounts' sources where the container's root can reach them: the lab's folder lets nobody in."""
        for bind in wanted.binds:
            place = f"{self._folder}/{bind.key}"
            source = str(self._layout.node / bind.source.lstrip("/"))
            if not Path(source).is_dir():
                raise LxcError(f"directory '{bind.source}' does not exist")
            await self._bed.run("sh", "-c", '! mountpoint -q "$0" || umount "$0"; mkdir -p "$0"', place)
            await self._bed.run("mount", "--bind", source, place)

    def _make(self, device: configs.Device) -> tuple[int, int]:
        """Make a device node as the node's; returns its numbers."""
        numbers = (self._layout.node / device.path.lstrip("/")).stat().st_rdev
        place = self._bed.inside / str(self.ctid) / "devices" / device.path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        os.mknod(place, stat.S_IFCHR, numbers)
        place.chmod(device.mode)
        os.chown(place, self.root_uid, self.root_uid)
        return os.major(numbers), os.minor(numbers)

    def _show_gpus(self, gpus: Gpus) -> None:
        """Show the driver's version, nvidia-smi's answers, and the libraries of its userland."""
        module = self._home / "driver/nvidia/version"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text(gpus.module)
        new = self._home / "gpu.new"
        new.write_text(json.dumps(gpus.state))
        new.replace(self._home / "gpu.json")
        version = gpus.state["userland"].get(self._name, gpus.state["driver"])
        libraries = f"usr/lib/{platform.machine()}-linux-gnu"
        for old in (self._rootfs / libraries).glob("libcuda.so.*"):
            old.unlink()
        if version is None:
            (self._rootfs / "usr/local/bin/nvidia-smi").unlink(missing_ok=True)
            return
        smi = f'#!/bin/sh\nexec /usr/bin/python3 -IS {SHARED}/nvidia_smi.py {self._name} {SHARED} "$@"\n'
        self._put("usr/local/bin/nvidia-smi", smi.encode(), 0o755)
        self._put(f"{libraries}/libcuda.so.{version}", b"")

    def _put(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file of its root's."""
        place = self._rootfs / path
        for parent in reversed(place.relative_to(self._rootfs).parents):
            if not (self._rootfs / parent).exists():
                (self._rootfs / parent).mkdir(mode=0o755)
                os.chown(self._rootfs / parent, self.root_uid, self.root_uid)
        place.write_bytes(content)
        place.chmod(mode)
        os.chown(place, self.root_uid, self.root_uid)
