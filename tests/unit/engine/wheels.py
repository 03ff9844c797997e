"""Wheels of a few hundred bytes, for folders that stand for a package index."""

import zipfile
from collections.abc import Sequence
from pathlib import Path


def wheel(
    folder: Path, name: str, version: str, code: str, *, module: str | None = None, needs: Sequence[str] = ()
) -> None:
    """Write NAME-VERSION's wheel into `folder`: one package, called like the distribution where nothing else is said."""
    folder.mkdir(exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    wants = "".join(f"Requires-Dist: {need}\n" for need in needs)
    files = {
        f"{module or name}/__init__.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{wants}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
