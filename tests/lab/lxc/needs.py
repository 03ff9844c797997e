"""What a machine lacks for real LXC containers."""

import os
import shutil
import sys

from inventory.errors import SpecrailError

_PROGRAMS = {
    "lxc-start": "lxc",
    "lxc-usernsexec": "lxc",
    "mmdebstrap": "mmdebstrap",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "git": "git",
}
"""Programs, and the Debian packages that have them."""

PATH = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin{os.pathsep}/sbin"


def missing() -> list[str]:
    """Return what is missing, a sentence each; empty where LXC containers can be tried."""
    if sys.platform != "linux":
        return [f"this is {sys.platform}, not Linux"]
    lacks = [] if os.geteuid() == 0 else ["this user is not root"]
    packages = sorted({package for program, package in _PROGRAMS.items() if not shutil.which(program, path=PATH)})
    if packages:
        lacks.append(
            f"not installed: {' '.join(packages)} (apt-get install --no-install-recommends {' '.join(packages)})"
        )
    return lacks


def check() -> None:
    """Raise SpecrailError with all that is missing."""
    if lacks := missing():
        raise SpecrailError(
            "this machine cannot have LXC containers",
            where=("lab", "lxc"),
            why=lacks,
            tries=("./run test lxc   (as root: installs what it needs)", "invoke lab.up   (without --containers lxc)"),
        )
