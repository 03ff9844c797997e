"""A container's config, from Proxmox's words to LXC's."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FIRST_UID = 100_000
"""Who an unprivileged container's root is outside, as on Proxmox."""
_UIDS = 65_536

_COMMON = "/usr/share/lxc/config/common.conf"
_MAJOR = 195
_MINORS = {"nvidiactl": 255, "nvidia-modeset": 254, "nvidia-uvm-tools": 253, "nvidia-uvm": 252}


@dataclass(frozen=True)
class Device:
    """A dev[n]: path inside ("/dev/nvidia0"), and the mode that it shall have there."""

    path: str
    mode: int


@dataclass(frozen=True)
class Bind:
    """An mp[n] with a folder of the node: key is "mp0"."""

    key: str
    source: str
    target: str
    read_only: bool


@dataclass(frozen=True)
class Wanted:
    """What a Proxmox config says of a container, as far as the lab makes it true. address is None for DHCP."""

    hostname: str
    privileged: bool
    disk_gib: float
    address: str | None
    gateway: str | None
    mac: str | None
    devices: tuple[Device, ...]
    binds: tuple[Bind, ...]

    @property
    def root_uid(self) -> int:
        """Who its root is outside."""
        return 0 if self.privileged else FIRST_UID


def read(config: Mapping[str, Any]) -> Wanted:
    """Read the config of fakepve's container."""
    net = _options(str(config.get("net0", "")))
    size = _options(str(config["rootfs"])).get("size", "8G")
    devices, binds = [], []
    for key, value in sorted(config.items()):
        first, options = str(value).split(",")[0], _options(str(value))
        if re.fullmatch(r"dev\d+", key):
            devices.append(Device(options.get("path", first), int(options.get("mode", "0660"), 8)))
        elif re.fullmatch(r"mp\d+", key) and first.startswith("/"):
            binds.append(Bind(key, first, options["mp"], options.get("ro") == "1"))
    return Wanted(
        hostname=str(config.get("hostname", "localhost")),
        privileged=str(config.get("unprivileged", 0)) != "1",
        disk_gib=float(size[:-1]) * {"M": 1 / 1024, "G": 1, "T": 1024}[size[-1]],
        address=None if net.get("ip", "dhcp") in ("dhcp", "manual") else net["ip"],
        gateway=net.get("gw"),
        mac=net.get("hwaddr"),
        devices=tuple(devices),
        binds=tuple(binds),
    )


def number(name: str) -> tuple[int, int]:
    """Major and minor number of an NVIDIA device below /dev. No driver here has this major: opening one is ENXIO.

    On a real machine nvidia-uvm and the capabilities have majors of their own, which change from boot to boot.
    """
    short = name.rpartition("/")[2]
    if short in _MINORS:
        return _MAJOR, _MINORS[short]
    digits = int(re.sub(r"\D", "", short) or 0)
    return _MAJOR, digits + 200 if "cap" in short else digits


def text(
    wanted: Wanted,
    *,
    folder: str,
    group: str,
    link: str,
    address: str,
    gateway: str,
    marks: Mapping[str, str],
    numbers: Mapping[str, tuple[int, int]],
    binds: Sequence[tuple[str, str]],
    common: str,
) -> str:
    """The file that lxc-start reads.

    folder:  of the container: rootfs/, devices/ and mp0/ ... lie there
    group:   its control group; link: the outer end of its network link
    address: with prefix; gateway: where to, when the config names none
    marks:   environment of its process 1
    numbers: major and minor of each device, by path inside
    binds:   folders of the lab's own that it can read: (outside, inside)
    common:  content of LXC's common.conf
    """
    return "".join(
        f"lxc.{line}\n"
        for line in (
            *_kind(wanted, common),
            f"uts.name = {wanted.hostname}",
            f"rootfs.path = dir:{folder}/rootfs",
            "apparmor.profile = unconfined",
            f"cgroup.dir = {group}",
            *(f"environment = {name}={value}" for name, value in marks.items()),
            *_network(wanted, link, address, gateway),
            *_devices(wanted, folder, numbers),
            *(_entry(f"{folder}/{bind.key}", bind.target, read_only=bind.read_only) for bind in wanted.binds),
            *(_entry(outside, inside, read_only=True) for outside, inside in binds),
        )
    )


def _kind(wanted: Wanted, common: str) -> Iterator[str]:
    yield f"include = {_COMMON}"
    if wanted.privileged:
        return
    yield "include = /usr/share/lxc/config/userns.conf"
    # That file empties the list of devices, to which any line below would then be all: not even /dev/null opens.
    yield from re.findall(r"^lxc\.(cgroup2\.devices\..*)$", common, re.MULTILINE)
    yield f"idmap = u 0 {FIRST_UID} {_UIDS}"
    yield f"idmap = g 0 {FIRST_UID} {_UIDS}"


def _network(wanted: Wanted, link: str, address: str, gateway: str) -> Iterator[str]:
    yield "net.0.type = veth"
    yield "net.0.link = br0"
    yield "net.0.flags = up"
    yield "net.0.name = eth0"
    yield f"net.0.veth.pair = {link}"
    yield f"net.0.ipv4.address = {wanted.address or address}"
    yield f"net.0.ipv4.gateway = {wanted.gateway or gateway}"
    if wanted.mac:
        yield f"net.0.hwaddr = {wanted.mac}"


def _devices(wanted: Wanted, folder: str, numbers: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    for device in wanted.devices:
        major, minor = numbers[device.path]
        yield f"cgroup2.devices.allow = c {major}:{minor} rw"
        yield _entry(f"{folder}/devices{device.path}", device.path, kind="file")


def _entry(source: str, target: str, *, kind: str = "dir", read_only: bool = False) -> str:
    options = f"bind,create={kind}" + (",ro" if read_only else "")
    return f"mount.entry = {source} {target.lstrip('/')} none {options} 0 0"


def _options(value: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in value.split(",") if "=" in word)
