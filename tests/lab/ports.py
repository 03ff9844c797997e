"""A block of loopback ports for one lab, claimed so that labs running at the same time never meet."""

import os
import socket
from dataclasses import dataclass

SIZE = 32
_FIRST, _LAST = 20_000, 32_000  # below the range that the kernel gives to outgoing connections


@dataclass(frozen=True)
class Ports:
    """One block. `claim` is bound for as long as the lab lives, without listening: that is what other labs run into."""

    base: int
    claim: socket.socket

    @property
    def api(self) -> int:
        """The node's API."""
        return self.base + 1

    @property
    def node_ssh(self) -> int:
        """The node's sshd."""
        return self.base + 2

    def container_ssh(self, slot: int) -> int:
        """The sshd of the container in a slot (0 ...)."""
        return self._pair(slot)

    def server(self, slot: int) -> int:
        """The engine's port of the container in a slot."""
        return self._pair(slot) + 1

    def _pair(self, slot: int) -> int:
        port = self.base + 3 + 2 * slot
        if port + 1 >= self.base + SIZE:
            raise ValueError(f"a lab has room for {(SIZE - 3) // 2} containers")
        return port

    def release(self) -> None:
        """Let others have the block."""
        self.claim.close()


def claim(preferred: int | None = None) -> Ports:
    """Claim a block: the preferred one if it is free, else any. Raises OSError when none is."""
    blocks = list(range(_FIRST, _LAST, SIZE))
    start = os.getpid() * 7 % len(blocks)
    candidates = blocks[start:] + blocks[:start]
    if preferred in blocks:
        candidates.insert(0, preferred)
    for base in candidates:
        if ports := _claim(base):
            return ports
    raise OSError(f"no {SIZE} free ports in a row between {_FIRST} and {_LAST}")


def _claim(base: int) -> Ports | None:
    held = socket.socket()
    try:
        held.bind(("127.0.0.1", base))
    except OSError:
        held.close()
        return None
    if all(_free(base + offset) for offset in range(1, 8)):
        return Ports(base, held)
    held.close()
    return None


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers do: TIME_WAIT does not matter
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
