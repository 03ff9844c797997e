"""Namespaces that the lab's LXC containers live in, below one process: when it ends, everything in them is gone."""

import asyncio
import contextlib
import hashlib
import ipaddress
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.lab import processes
from tests.lab.layout import Layout
from tests.lab.lxc.needs import PATH
from tests.lab.processes import Reaper

BASE = "/run/lab"
"""Folder of the containers, inside: a tmpfs that nobody outside sees."""

_RANGE = ipaddress.IPv4Network("198.51.100.0/24")  # TEST-NET-2: nobody's
_PREFIX = 28
_COMMAND_S = 60
_RESERVED = 3  # the network's own address, the bridge's, this machine's

_HIERARCHIES = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
"""Where a machine shows cgroup2: alone, or beside the old one."""

_KEEPER = f"""\
set -eu
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo 0 >/sys/fs/cgroup/cgroup.procs
mount -t tmpfs -o mode=755 lab /run
mkdir -p /run/lxc {BASE}
echo root:100000:65536 >/run/subid
for file in /etc/subuid /etc/subgid; do
  [ ! -e "$file" ] || mount --bind /run/subid "$file"
done
ip link set lo up
ip link add br0 type bridge
ip link set br0 up
trap '' CHLD
echo ready
exec cat >/dev/null
"""
"""Process 1 inside. It buries what its monitors leave (CHLD is ignored), and ends when the daemon's end of its input does."""


class LxcError(OSError):
    """A command inside failed; the message is what it said."""


@dataclass(frozen=True)
class Network:
    """One of sixteen small networks of the range, on a bridge inside that is reached over a link from here."""

    number: int

    @property
    def link(self) -> str:
        """Name of this machine's end of the link."""
        return f"specrail-lab{self.number}"

    @property
    def net(self) -> ipaddress.IPv4Network:
        """All of it."""
        return list(_RANGE.subnets(new_prefix=_PREFIX))[self.number]

    @property
    def bridge(self) -> str:
        """Address of the bridge: the containers' gateway, and where git answers."""
        return str(self.net[1])

    @property
    def here(self) -> str:
        """Address of this machine."""
        return str(self.net[2])

    def container(self, slot: int) -> str:
        """Address of the container in a slot (0 ...). Raises ValueError when there are too many."""
        if _RESERVED + slot >= self.net.num_addresses - 1:
            raise ValueError(f"a lab has room for {self.net.num_addresses - 1 - _RESERVED} LXC containers")
        return str(self.net[_RESERVED + slot])

    def with_prefix(self, address: str) -> str:
        """An address as `ip` and Proxmox want it."""
        return f"{address}/{_PREFIX}"


class Bed:
    """The namespaces (mounts, processes, network), from `open` to `close` or to the end of this process."""

    def __init__(self, layout: Layout, reaper: Reaper) -> None:
        self._layout = layout
        self._reaper = reaper
        self._keeper: subprocess.Popen[bytes] | None = None
        self._git: subprocess.Popen[bytes] | None = None
        self._pid = 0
        self._network: Network | None = None

    @property
    def network(self) -> Network:
        """The network, once it is open."""
        assert self._network is not None
        return self._network

    @property
    def inside(self) -> Path:
        """The folder of the containers as this process reaches it."""
        return Path(f"/proc/{self._pid}/root{BASE}")

    @property
    def repository(self) -> str:
        """URL of the engine's repository, for this machine and the containers alike."""
        return f"git://{self.network.bridge}/{self._layout.git.name}"

    @property
    def environment(self) -> dict[str, str]:
        """What commands inside start with. The mark lets a later daemon find what this one left."""
        return {"PATH": PATH, "LC_ALL": "C.UTF-8", processes.LAB: str(self._layout.folder)}

    async def open(self) -> None:
        """Everything is there, but no container. Raises LxcError."""
        os.umask(0o022)  # the containers' root is nobody here and reads what others may read
        namespaces = ("--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private")
        self._keeper = self._start(["unshare", *namespaces, "/bin/sh", "-c", _KEEPER])
        assert self._keeper.stdout is not None
        if await asyncio.to_thread(self._keeper.stdout.readline) != b"ready\n":
            raise LxcError("no namespaces for LXC containers could be made; the lab's log says why")
        children = Path(f"/proc/{self._keeper.pid}/task/{self._keeper.pid}/children").read_text().split()
        self._pid = int(children[0])
        self._network = await self._claim()
        git = ("git", "daemon", "--reuseaddr", "--export-all", f"--base-path={self._layout.folder}")
        self._git = self._start(self.argv(*git, f"--listen={self.network.bridge}", str(self._layout.git)))

    async def close(self) -> None:
        """Nothing of it is left."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)  # process 1 ends when all others have
        for process in (self._keeper, self._git):
            if process is not None:
                await asyncio.to_thread(process.wait)
                self._reaper.own.discard(process.pid)
        sweep(self._layout)

    def argv(self, *words: str) -> list[str]:
        """The command, inside."""
        return ["nsenter", f"--target={self._pid}", "--mount", "--net", "--pid", "--wd=/", "--", *words]

    async def run(self, *words: str, stdin: Path = Path(os.devnull)) -> str:
        """Run a command inside; returns its output. Raises LxcError."""
        return await self._run(self.argv(*words), stdin)

    async def forget_neighbour(self, address: str) -> None:
        """Forget which network card had an address: a container that was made anew has another one."""
        await self._run(["ip", "neigh", "flush", "to", address, "dev", self.network.link])

    async def _run(self, argv: list[str], stdin: Path = Path(os.devnull)) -> str:
        with self._reaper.resting(), stdin.open("rb") as given:
            try:
                done = await asyncio.to_thread(
                    subprocess.run,
                    argv,
                    stdin=given,
                    capture_output=True,
                    timeout=_COMMAND_S,
                    env=self.environment,
                    cwd="/",
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise LxcError(f"{' '.join(argv[-4:])}: no end after {_COMMAND_S} s") from error
        if done.returncode:
            said = (done.stderr or done.stdout).decode(errors="replace").strip()
            raise LxcError(f"{' '.join(argv[:8])} ...: {said or f'status {done.returncode}'}")
        return done.stdout.decode(errors="replace")

    def _start(self, argv: list[str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment, cwd="/", start_new_session=True
        )
        self._reaper.own.add(process.pid)
        return process

    async def _claim(self) -> Network:
        """Take the first network of the range that nothing here uses, and lay a link to it."""
        refused = ""
        for number in range(2 ** (_PREFIX - _RANGE.prefixlen)):
            network = Network(number)
            if await self._run(["ip", "route", "show", "root", str(network.net)]):
                continue
            peer = ("peer", "name", "uplink", "netns", str(self._pid))
            try:
                await self._run(["ip", "link", "add", network.link, "type", "veth", *peer])
            except LxcError as error:
                refused = str(error)
                continue
            await self._run(["ip", "addr", "add", network.with_prefix(network.here), "dev", network.link])
            await self._run(["ip", "link", "set", network.link, "up"])
            await self.run("ip", "addr", "add", network.with_prefix(network.bridge), "dev", "br0")
            await self.run("ip", "link", "set", "uplink", "master", "br0", "up")
            return network
        raise LxcError(f"no part of {_RANGE} is free; {refused}")


def control_group(layout: Layout) -> str:
    """Name of the group of all containers of a lab, below the root of the cgroup2 hierarchy."""
    return f"specrail-{hashlib.sha256(str(layout.folder).encode()).hexdigest()[:12]}"


def sweep(layout: Layout) -> None:
    """Remove the empty control groups that a lab's containers have left; all else went with their namespaces."""
    for hierarchy in _HIERARCHIES:
        for folder, _, _ in os.walk(hierarchy / control_group(layout), topdown=False):
            with contextlib.suppress(FileNotFoundError):
                Path(folder).rmdir()
