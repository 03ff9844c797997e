"""Who holds a host's lock when this process does, and whether another process of this machine still lives."""

import os
import platform
from pathlib import Path

from playbooks.desired import who
from playbooks.site import Site
from roles.release.lock import Owner


def owner_of(site: Site) -> Owner:
    """This process, running the site's operation."""
    return Owner(
        who=who().partition("@")[0],
        controller=platform.node(),
        controller_boot=_boot_id(),
        pid=os.getpid(),
        operation=site.operation,
        verb=site.verb,
    )


def alive(pid: int) -> bool:
    """Whether a process of this machine runs, whoever's it is."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
