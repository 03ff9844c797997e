"""Waiting for a container that another task works on, instead of failing at the first "CT is locked"."""

from collections.abc import Callable
from typing import TypeVar

from inventory.errors import GuestLocked, ProxmoxError, TaskFailed
from inventory.pve.api import Proxmox

T = TypeVar("T")

_PAUSE_S = 5.0
LOCK_WAIT_S = 300.0
"""A snapshot takes seconds and a backup minutes; who waits longer wants to know."""


def patiently(pve: Proxmox, act: Callable[[], T], on_line: Callable[[str], None], *, wait_s: float = LOCK_WAIT_S) -> T:
    """Do `act`, again and again while it is refused because the container is locked: nothing was changed then.

    Raises the last refusal after wait_s.
    """
    began = pve.clock()
    told = False
    while True:
        try:
            return act()
        except ProxmoxError as error:
            if not _locked(error) or pve.clock() - began >= wait_s:
                raise
            if not told:
                on_line(f"{error.what}: waiting for it, up to {wait_s:g} s")
                told = True
        pve.sleep(_PAUSE_S)


def _locked(error: ProxmoxError) -> bool:
    return isinstance(error, GuestLocked) or (
        isinstance(error, TaskFailed) and isinstance(error.__cause__, GuestLocked)
    )
