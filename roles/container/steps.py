"""The steps that a container's plan is made of, each with what is needed to carry it out."""

from collections.abc import Mapping
from dataclasses import dataclass

from roles.step import Step

Fields = Mapping[str, str | int]


@dataclass(frozen=True, kw_only=True)
class ContainerStep(Step):
    """A step on one container."""

    ctid: int


@dataclass(frozen=True, kw_only=True)
class Create(ContainerStep):
    """POST /nodes/{node}/lxc with these fields; waits for `task` instead when a create of ours is running already."""

    fields: Fields
    task: str | None = None


@dataclass(frozen=True, kw_only=True)
class Update(ContainerStep):
    """PUT config with these fields and `delete`, if the config is still what was planned on: `digest`, else `seen`."""

    fields: Fields
    delete: tuple[str, ...]
    digest: str | None
    seen: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Resize(ContainerStep):
    """Grow a disk to size_gib."""

    disk: str
    size_gib: int


@dataclass(frozen=True, kw_only=True)
class Attach(ContainerStep):
    """Run `argv` (pct set ...) in the node's root shell: what no API token may set."""

    argv: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Start(ContainerStep):
    """Start it."""


@dataclass(frozen=True, kw_only=True)
class Restart(ContainerStep):
    """Reboot it, which also applies what waits for the next start."""


@dataclass(frozen=True, kw_only=True)
class Destroy(ContainerStep):
    """Stop it if `running`, and remove it with its disks."""

    running: bool
