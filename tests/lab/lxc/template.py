"""The root file system that the lab's LXC containers are made from: this machine's distribution, built once, kept as a tar."""

import fcntl
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from inventory.errors import SpecrailError
from inventory.shell import command

CACHE_VARIABLE = "SPECRAIL_LXC_CACHE"
CACHE = Path("/var/cache/specrail-lab")

_PACKAGES = (
    *("systemd-sysv", "dbus", "libpam-systemd", "openssh-server", "iproute2", "procps", "ca-certificates"),
    *("python3", "git"),
    "libnuma1",  # what a real engine for CPUs is linked against
)
_NOT_INSTALLED = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*")
_MASKED = (
    # What a container cannot or need not do; some of them would change the machine below.
    *("sys-kernel-debug.mount", "sys-kernel-tracing.mount", "systemd-udevd.service", "systemd-udev-trigger.service"),
    *("systemd-sysctl.service", "systemd-modules-load.service"),
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer"),
)
Source = tuple[str, str, Sequence[str]]
"""Where packages come from: URI, suite, components."""

_SOURCES = Path("/etc/apt")
_SCRATCH = Path("/dev/shm")  # fast where it is there; dpkg syncs after each package
_BUILD_S = 1800


def ensure() -> Path:
    """Return the tar, built first where it is not there yet (a minute or two, packages from the machine's own mirror).

    Raises SpecrailError with the last words of what failed.
    """
    cache = Path(os.environ.get(CACHE_VARIABLE) or CACHE)
    cache.mkdir(parents=True, exist_ok=True)
    suite, sources = _suite(), list(_mirror())
    argv = _mmdebstrap(suite)
    digest = hashlib.sha256(repr((argv, sources)).encode()).hexdigest()[:12]
    tar = cache / f"root-{suite}-{digest}.tar"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second lab waits for the first one's
        if not tar.exists():
            sys.stderr.write(f"building the containers' root file system {tar} (once; a minute or two)\n")
            _build(argv, "".join(f"{line}\n" for line in sources), tar)
            for old in cache.glob("root-*.tar"):
                if old != tar:
                    old.unlink()
    return tar


def _build(argv: Sequence[str], sources: str, tar: Path) -> None:
    new = tar.with_suffix(".new")
    environment = {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8"}
    if _SCRATCH.is_dir():
        environment["TMPDIR"] = str(_SCRATCH)
    try:
        done = subprocess.run(
            [*argv, str(new), "-"], input=sources, capture_output=True, text=True, timeout=_BUILD_S, env=environment
        )
        if done.returncode:
            raise SpecrailError(
                "mmdebstrap could not build the containers' root file system",
                where=("lab", "lxc"),
                why=done.stderr.splitlines()[-10:],
                tries=("apt-get update   (does the package mirror answer?)",),
            )
        new.rename(tar)
    finally:
        new.unlink(missing_ok=True)


def _mmdebstrap(suite: str) -> list[str]:
    """Return the command without its target and its source of sources."""
    masks = "; ".join(f'ln -sf /dev/null "$1"/etc/systemd/system/{unit}' for unit in _MASKED)
    return [
        *("mmdebstrap", "--quiet", "--mode=root", "--format=tar", "--variant=apt", f"--include={','.join(_PACKAGES)}"),
        *('--aptopt=APT::Install-Recommends "false"', "--dpkgopt=force-unsafe-io"),
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in _NOT_INSTALLED),
        f"--customize-hook={masks}",
        # Each container gets its own: host keys at its creation, an id at its first start.
        '--customize-hook=rm -f "$1"/etc/ssh/ssh_host_* "$1"/etc/hostname; : >"$1"/etc/machine-id',
        '--customize-hook=mkdir -p -m 700 "$1"/root/.ssh; rm -rf "$1"/var/cache/apt/archives/*.deb',
        suite,
    ]


def _suite() -> str:
    """Return the code name of this machine's distribution. Raises SpecrailError where there is none."""
    text = Path("/etc/os-release").read_text(encoding="utf-8")
    found = re.search(r'^VERSION_CODENAME="?([a-z]+)"?$', text, re.MULTILINE)
    if not found:
        raise SpecrailError("this machine's distribution has no code name", where=("lab", "lxc"))
    return found[1]


def _mirror() -> Iterator[str]:
    """Yield the machine's own sources, as lines of a sources.list."""
    lists = (
        *_SOURCES.glob("sources.list.d/*.sources"),
        *_SOURCES.glob("sources.list.d/*.list"),
        _SOURCES / "sources.list",
    )
    for file in filter(Path.is_file, lists):
        text = file.read_text(encoding="utf-8")
        yield from of_suite(deb822(text) if file.suffix == ".sources" else one_line(text), _suite())


def of_suite(sources: Iterable[Source], suite: str) -> Iterator[str]:
    """Yield the lines for the distribution itself: nobody else's packages come into the containers."""
    for uri, name, components in sources:
        if re.fullmatch(rf"{suite}(-updates|-security)?", name):
            yield command("deb", uri, name, *components)


def deb822(text: str) -> Iterator[Source]:
    """Read a file of sources in paragraphs."""
    for paragraph in re.split(r"\n\s*\n", text):
        pairs = (line.partition(":") for line in paragraph.splitlines() if line[:1] not in "# ")
        fields = {key.lower(): value.split() for key, colon, value in pairs if colon}
        if "deb" in fields.get("types", ()):
            for uri in fields.get("uris", ()):
                for name in fields.get("suites", ()):
                    yield uri, name, fields.get("components", [])


def one_line(text: str) -> Iterator[Source]:
    """Read a file of sources, one a line."""
    for line in text.splitlines():
        words = re.sub(r"\[.*?\]", "", line).split()
        if len(words) >= 4 and words[0] == "deb":
            yield words[1], words[2], words[3:]
