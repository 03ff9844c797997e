"""A git repository with pull requests and a tiny engine package that builds without any index."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

BACKEND = '''"""An in-tree build backend: a wheel is a zip file, and this engine is one file."""

import os
import pathlib
import zipfile

_ROOT = pathlib.Path(__file__).parent


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info = "vllm-1.0.dist-info"
    environment = {name: value for name, value in os.environ.items() if name.startswith("VLLM_")}
    code = (_ROOT / "vllm/__init__.py").read_text() + f"\\nBUILT_WITH = {environment!r}\\n"
    files = {
        "vllm/__init__.py": code,
        f"{info}/METADATA": "Metadata-Version: 2.1\\nName: vllm\\nVersion: 1.0\\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{info}/entry_points.txt": "[console_scripts]\\nvllm = vllm:main\\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\\n" for name in (*files, f"{info}/RECORD"))
    name = "vllm-1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
    return name
'''

PYPROJECT = """[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "vllm"
version = "1.0"
"""


def module(version: str) -> str:
    """An engine that says it is of that version."""
    return f'__version__ = "{version}"\n\n\ndef main() -> None:\n    print(__version__)\n'


def git(folder: Path, *words: str) -> str:
    """Run git there, as nobody, at a fixed time, without the machine's configuration."""
    quiet = {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@example.org",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@example.org",
    }
    answer = subprocess.run(
        ["git", *words], cwd=folder, env={**os.environ, **quiet}, check=True, capture_output=True, text=True
    )
    return answer.stdout.strip()


@dataclass(frozen=True)
class Upstream:
    """The repository; main is its branch."""

    folder: Path

    @property
    def url(self) -> str:
        return f"file://{self.folder}"

    def commit(self, ref: str, files: dict[str, str], *, onto: str = "main") -> str:
        """Add a commit with these files after `onto`, let `ref` point to it, and return it."""
        git(self.folder, "checkout", "-q", "--detach", onto)
        for name, content in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(content)
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "--allow-empty", "-m", f"for {ref}")
        sha = git(self.folder, "rev-parse", "HEAD")
        git(self.folder, "update-ref", ref, sha)
        git(self.folder, "checkout", "-q", "main")
        return sha


def make(folder: Path) -> Upstream:
    """A repository with one commit on main: an engine of version 1.0.0."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "uploadpack.allowFilter", "true")
    for name, content in {
        "backend.py": BACKEND,
        "pyproject.toml": PYPROJECT,
        "vllm/__init__.py": module("1.0.0"),
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "an engine")
    return Upstream(folder)
