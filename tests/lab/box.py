"""What the lab's node wants of a container, whatever it is made of."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from tests.lab.gpus import Gpus


class Entrance(Protocol):
    """A container's sshd as faults play with it."""

    @property
    def port(self) -> int:
        """Its port."""

    @property
    def state(self) -> str:
        """closed, open or frozen."""

    async def open(self) -> None:
        """Listen and answer."""

    async def close(self) -> None:
        """Let nobody in, and nothing through that was open."""

    async def freeze(self) -> None:
        """Accept new connections and never answer."""


class Box(Protocol):
    """One container, from its creation to its destruction.

    slot:           its number among the lab's containers, from which addresses and ports follow
    pid:            fakepve's of the run that it plays; None while it is stopped
    network_wanted: False while a fault keeps its network away
    root_uid:       who the container's root is on this machine
    """

    ctid: int
    slot: int
    pid: int | None
    network_wanted: bool
    root_uid: int

    @property
    def door(self) -> Entrance:
        """Its sshd."""

    @property
    def address(self) -> str:
        """Where its sshd is reached."""

    @property
    def server_port(self) -> int:
        """Where its engine listens, as its inventory has it."""

    async def create(self, config: Mapping[str, Any], public_keys: str, gpus: Gpus) -> None:
        """Unpack the template: host keys (new each time), who may log in, programs."""

    async def boot(self, config: Mapping[str, Any], pid: int, gpus: Gpus) -> None:
        """Start it, with the devices and mounts of its config."""

    async def apply(self, config: Mapping[str, Any], gpus: Gpus) -> None:
        """Bring it in line with the config and the GPUs while it runs."""

    async def halt(self, *, grace_s: float = 0) -> None:
        """Stop it. With grace_s its processes are asked first (shutdown, reboot)."""

    async def destroy(self) -> None:
        """Remove it with its disk."""

    async def fill_disk(self, on: bool) -> None:
        """Leave no space on its disk, or as much as there was."""

    def become(self, argv: list[str]) -> dict[str, Any]:
        """What `pct exec` turns into: argv, cwd and environment."""

    def place(self, path: str) -> Path:
        """Where a path of the container is on this machine."""
