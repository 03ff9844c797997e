"""What cannot be made so: reasons to stop before anything is changed, each with what to do instead."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inventory.errors import PreflightError
from inventory.models import Container
from roles.container import properties, words
from roles.container.facts import OWN_TAG, ContainerFacts
from roles.container.node import NodeFacts


@dataclass(frozen=True)
class Finding:
    """One thing that stands in the way, and the commands or settings that remove it."""

    what: str
    tries: tuple[str, ...]


def foreign(name: str, have: ContainerFacts) -> Iterator[Finding]:
    """Whose the container is: what an explicit adoption overrides."""
    free = "pvesh get /cluster/nextid  # the next free id, for container.ctid"
    if not have.ours:
        yield Finding(
            f"container {have.ctid} ({have.config.get('hostname', 'no name')}) is not ours: it has no tag {OWN_TAG}",
            (f"invoke deploy --host {name} --adopt  # if it is meant to become ours", free),
        )
    elif (host := words.host_of(have.config)) not in (None, name):
        yield Finding(
            f"container {have.ctid} was made for the host {host}, not for {name}",
            (f"invoke deploy --host {name} --adopt  # if the host was renamed", free),
        )


def unchangeable(name: str, want: Container, have: ContainerFacts) -> Iterator[Finding]:
    """What is decided when a container is created, or goes one way only."""
    config = have.next_config
    again = f"invoke destroy --host {name} && invoke deploy --host {name}  # loses what is in the container"
    if properties.is_on(config.get("template")):
        yield Finding(f"{have.ctid} is a template, and a template does not run", (f"pct clone {have.ctid} NEWID",))
    if properties.is_on(config.get("unprivileged")) != want.unprivileged:
        is_now = "unprivileged" if properties.is_on(config.get("unprivileged")) else "privileged"
        yield Finding(
            f"the container is {is_now}, which cannot be changed: destroy and create again",
            (f"container.unprivileged: {str(not want.unprivileged).lower()}", again),
        )
    rootfs = properties.parse(config.get("rootfs", ""), "volume")
    storage = rootfs.get("volume", "").partition(":")[0]
    if storage != want.storage:
        yield Finding(
            f"the root file system is on {storage or 'no storage'}, not on {want.storage}",
            (f"container.storage: {storage}", f"pct move-volume {have.ctid} rootfs {want.storage}  # stopped, as root"),
        )
    size = properties.size_bytes(rootfs.get("size", ""))
    if size is not None and size // properties.GIB > want.rootfs_gib:
        yield Finding(
            f"the root file system has {rootfs['size']}, and a disk cannot shrink to {want.rootfs_gib}G",
            (f"container.rootfs_gib: {size // properties.GIB}", again),
        )
    for number, value in properties.numbered(config, "mp").items():
        there = properties.parse(value, "volume")
        source = next((mount.source for mount in want.mounts if mount.target == there.get("mp")), None)
        if source is not None and not there.get("volume", "").startswith("/"):
            yield Finding(
                f"mp{number} at {there['mp']} is the volume {there['volume']}, not the folder {source}",
                (f"pct set {have.ctid} --delete mp{number}  # as root: the volume stays, as unused", again),
            )


def half_made(have: ContainerFacts) -> Iterator[Finding]:
    """A create whose task died."""
    if have.lock == "create" and have.creating is None:
        yield Finding(
            f"container {have.ctid} is half made: it is locked (create), but no create task is running",
            (f"pct unlock {have.ctid} && pct destroy {have.ctid}  # as root: nothing of worth is in it",),
        )


def taken(have: ContainerFacts) -> Iterator[Finding]:
    """An id that belongs to another guest."""
    if have.owner is not None:
        yield Finding(
            f"the id {have.ctid} belongs to {have.owner}",
            ("pvesh get /cluster/nextid  # the next free id, for container.ctid",),
        )


def devices(want: Container, node: NodeFacts) -> Iterator[Finding]:
    """Devices that the node does not have: with one missing, the container does not start at all."""
    missing = [name for name in want.gpus.devices if node.devices.get(name, "missing") == "missing"]
    if missing:
        driver = f"driver {node.driver} is loaded" if node.driver else "its NVIDIA driver is not loaded"
        yield Finding(
            f"the node has no {', '.join(f'/dev/{name}' for name in missing)} ({driver})",
            (
                "nvidia-modprobe -c0 -u -m && nvidia-smi -L  # as root on the node; also at boot, before the guests",
                "container.gpus.indices  # the N of the node's /dev/nvidiaN",
            ),
        )
    for name in want.gpus.devices:
        if (kind := node.devices.get(name)) in {"folder", "file"}:
            yield Finding(f"/dev/{name} is a {kind}, not a device", (f"ls -ld /dev/{name}  # as root on the node",))


def stop(findings: Sequence[Finding]) -> None:
    """Raise one PreflightError for all of them, if there are any."""
    if not findings:
        return
    first, *more = findings
    raise PreflightError(
        first.what if not more else f"{len(findings)} things stand in the way",
        where=("container",),
        why=[finding.what for finding in findings] if more else ["Nothing was changed."],
        tries=list(dict.fromkeys(line for finding in findings for line in finding.tries)),
    )
