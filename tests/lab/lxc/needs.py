"""What a machine lacks for real LXC containers."""

import os
import shutil
import subprocess
import sys

from inventory.errors import SpecrailError

_PROGRAMS = {
    "lxc-start": "lxc",
    "lxc-usernsexec": "lxc",
    "mmdebstrap": "mmdebstrap",
    "ip": "iproute2",
    "ssh": "openssh-client",
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
    return lacks or _refusals()


def _refusals() -> list[str]:
    """Return what the kernel, or who runs this machine, does not let root do (a container without rights of its own)."""
    namespaces = ("--mount", "--net", "--pid", "--fork", "--mount-proc", "--propagation", "private")
    tried = "mount -t sysfs sysfs /sys && mount -t cgroup2 cgroup2 /sys/fs/cgroup && ip link add br0 type bridge"
    done = subprocess.run(
        ["unshare", *namespaces, "sh", "-c", tried],
        env={"PATH": PATH, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return [f"namespaces cannot be used: {done.stderr.strip()}"] if done.returncode else []


def check() -> None:
    """Raise SpecrailError with all that is missing."""
    if lacks := missing():
        raise SpecrailError(
            "this machine cannot have LXC containers",
            where=("lab", "lxc"),
            why=lacks,
            tries=("./run test lxc   (as root: installs what it needs)", "invoke lab.up   (without --containers lxc)"),
        )
