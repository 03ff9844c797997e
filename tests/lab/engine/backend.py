"""A build backend of the standard library alone, so that the stand-in installs without a package index (PEP 517, 660)."""

import base64
import hashlib
import io
import os
import runpy
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSION = runpy.run_path(str(HERE / "vllm" / "features.py"))["VERSION"]
DIST_INFO = f"vllm-{VERSION}.dist-info"
METADATA = f"""\
Metadata-Version: 2.3
Name: vllm
Version: {VERSION}
Summary: A stand-in for vLLM: its HTTP API, log lines and counters without a GPU
Requires-Python: >=3.10
License-Expression: Apache-2.0
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: backend
Root-Is-Purelib: true
Tag: py3-none-any
"""
ENTRY_POINTS = """\
[console_scripts]
vllm = vllm.cli:main
"""


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Write the wheel; returns its file name."""
    sources = sorted(path.relative_to(HERE) for path in (HERE / "vllm").rglob("*.py"))
    return _write_wheel(wheel_directory, {str(path): (HERE / path).read_bytes() for path in sources} | _dependencies())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Write a wheel that points at this checkout; returns its file name."""
    return _write_wheel(wheel_directory, {"vllm-editable.pth": f"{HERE}\n".encode()} | _dependencies())


def build_sdist(sdist_directory, config_settings=None):
    """Write the source distribution; returns its file name."""
    root = f"vllm-{VERSION}"
    with tarfile.open(Path(sdist_directory) / f"{root}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name in ("pyproject.toml", "backend.py", "csrc", "vllm"):
            archive.add(HERE / name, f"{root}/{name}", filter=_without_caches)
        entry = tarfile.TarInfo(f"{root}/PKG-INFO")
        entry.size = len(METADATA)
        archive.addfile(entry, io.BytesIO(METADATA.encode()))
    return f"{root}.tar.gz"


def get_requires_for_build_wheel(config_settings=None):
    """Return what a build needs: nothing."""
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel


def _dependencies():
    """vLLM brings aiohttp, numpy and pydantic; there is no index here, so the lab says where they are."""
    folder = os.environ.get("SPECRAIL_LAB_PACKAGES")
    return {"vllm-dependencies.pth": f"{folder}\n".encode()} if folder else {}


def _write_wheel(folder, files):
    files = files | {
        f"{DIST_INFO}/METADATA": METADATA.encode(),
        f"{DIST_INFO}/WHEEL": WHEEL.encode(),
        f"{DIST_INFO}/entry_points.txt": ENTRY_POINTS.encode(),
    }
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{DIST_INFO}/RECORD"] = f"{record}{DIST_INFO}/RECORD,,\n".encode()
    name = f"vllm-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            wheel.writestr(zipfile.ZipInfo(path), content)  # ZipInfo's fixed date keeps the wheel reproducible
    return name


def _digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _without_caches(entry):
    return None if "__pycache__" in entry.name else entry
