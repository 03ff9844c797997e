"""The stand-in engine installs from its repository as the real one would, but without a package index."""

import os
import subprocess
from pathlib import Path

from uv import find_uv_bin

from tests.lab.repository import Repository


def test_uv_installs_a_pull_request_offline(repository: Repository, tmp_path: Path) -> None:
    def run(*words: str) -> str:
        variables = {"PATH": os.environ["PATH"], "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_OFFLINE": "1"}
        return subprocess.run(words, env=variables, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    python = str(tmp_path / "venv/bin/python")
    run(find_uv_bin(), "venv", "--no-config", str(tmp_path / "venv"))
    install = (find_uv_bin(), "pip", "install", "--no-config", "--no-index", "--python", python)
    run(*install, f"vllm @ git+{repository.url}@refs/pull/40898/head")
    assert run(str(tmp_path / "venv/bin/vllm"), "--version") == "0.20.1.dev1+pr40898\n"
    check = "from importlib.metadata import version; from vllm import features; print(version('vllm'), features.HONOURS_LAYER_TYPES)"
    assert run(python, "-c", check) == "0.20.1.dev1+pr40898 True\n"
    run("git", "clone", "--quiet", repository.url, "checkout")
    run(*install, "--editable", "checkout")
    assert run(str(tmp_path / "venv/bin/vllm"), "--version") == "0.20.1\n"
