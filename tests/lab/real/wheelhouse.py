"""A folder with all wheels of a real engine, for containers that have no way to a package index."""

import os
import subprocess
import sys
from pathlib import Path

import uv

from inventory.errors import SpecrailError
from tests.lab.real import wanted

_DOWNLOAD_S = 1800


def fill(folder: Path, version: str = wanted.VERSION, *, python: str = "3.11") -> None:
    """Download what `wanted.engine` installs. python: the container's. Raises SpecrailError with the last words of what failed."""
    folder.mkdir(parents=True, exist_ok=True)
    overrides, pins = folder / "overrides.txt", folder / "pins.txt"
    overrides.write_text("".join(f"{line}\n" for line in wanted.OVERRIDES))
    places = [word for place in wanted.wheel_folders() for word in ("--find-links", place)]
    resolve = [uv.find_uv_bin(), "pip", "compile", "-", "--quiet", "--no-header", "--no-annotate"]
    resolve += ["--override", str(overrides), "--python-version", python, "--output-file", str(pins)]
    asked = "\n".join((f"{wanted.DISTRIBUTION}=={version}", *wanted.PACKAGES))
    _run([*resolve, *(places or ("--torch-backend", "cpu"))], asked)
    download = [str(Path(sys.base_prefix) / "bin/python3"), "-m", "pip", "download", "--quiet", "--no-deps"]
    download += [
        "--only-binary",
        ":all:",
        "--python-version",
        python,
        "--dest",
        str(folder),
        "--requirement",
        str(pins),
    ]
    _run([*download, *(places or ("--extra-index-url", wanted.TORCH_INDEX))])


def _run(words: list[str], text: str = "") -> None:
    try:
        subprocess.run(
            words, input=text, capture_output=True, text=True, check=True, timeout=_DOWNLOAD_S, env=dict(os.environ)
        )
    except subprocess.CalledProcessError as error:
        raise SpecrailError(
            "the engine's wheels could not be downloaded", where=("lab",), why=error.stderr.splitlines()[-5:]
        ) from error
