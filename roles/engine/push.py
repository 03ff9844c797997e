"""Which uv builds on a host: one that is there, or the controller's own, sent to it."""

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import uv

from roles.engine.facts import EngineFacts

OLDEST = (0, 7)
"""An older uv on the host is left alone: --torch-backend was new and marked as a preview in 0.6."""

_SAME_MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True)
class LocalUv:
    """The controller's uv. machine as `uname -m` says it; system as platform.system()."""

    path: Path
    version: str
    size_bytes: int
    machine: str
    system: str

    def runs_on(self, arch: str | None) -> bool:
        """Whether it runs on a Linux host of that machine; an unknown one is taken for the same."""
        return self.system == "Linux" and arch in {None, self.machine}

    def remote_path(self, base: str) -> str:
        """Where it goes on a host; base is the service's folder. The caller sends it with Shell.put."""
        return f"{base}/bin/uv-{self.version}"


def local_uv() -> LocalUv:
    """The uv that is installed beside specrail. Raises FileNotFoundError when its package has no program."""
    machine = platform.machine().lower()
    path = Path(uv.find_uv_bin())
    return LocalUv(
        path=path,
        version=version("uv"),
        size_bytes=path.stat().st_size,
        machine=_SAME_MACHINE.get(machine, machine),
        system=platform.system(),
    )


def on_host(have: EngineFacts, local: LocalUv) -> str | None:
    """Path of the host's uv that will do: the same version first, then the newest that knows what is asked of it."""
    if local.version in have.uv:
        return have.uv[local.version]
    fit = sorted((numbers, path) for text, path in have.uv.items() if (numbers := _numbers(text)) >= OLDEST)
    return fit[-1][1] if fit else None


def _numbers(text: str) -> tuple[int, ...]:
    parts = []
    for part in text.split(".")[:3]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        parts.append(int(digits or 0))
    return tuple(parts)
