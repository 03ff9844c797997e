"""What the tests of the lab's engine share: its repository, builds of it, models, and GPUs."""

import io
import json
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lab import models as lab_models
from tests.lab import repository as lab_repository
from tests.lab.repository import Repository
from tests.unit.lab.engine.process import Launch

TWO_GPUS = "0, GPU-a, NVIDIA RTX A6000, 49140, 4\n1, GPU-b, NVIDIA RTX A6000, 49140, 4\n"


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return lab_repository.make(tmp_path_factory.mktemp("repository") / "vllm.git")


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    lab_models.make(folder)
    return folder


@pytest.fixture(scope="session")
def build(repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int | None], Path]:
    """Returns a function: the sources of a pull request's head, or of main."""
    root = tmp_path_factory.mktemp("builds")

    def check_out(number: int | None) -> Path:
        sha = repository.main if number is None else repository.pulls[number]
        if not (root / sha).exists():
            archive = subprocess.run(["git", "archive", sha], cwd=repository.folder, check=True, stdout=subprocess.PIPE)
            with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
                files.extractall(root / sha, filter="data")
        return root / sha

    return check_out


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Path]:
    """Returns a function: a folder with an nvidia-smi that gives this answer."""

    def make(answer: str = TWO_GPUS, status: int = 0) -> Path:
        folder = tmp_path_factory.mktemp("tools")
        (folder / "answer").write_text(answer)
        (folder / "nvidia-smi").write_text(f"#!/bin/sh\ncat '{folder}/answer'\nexit {status}\n")
        (folder / "nvidia-smi").chmod(0o755)
        return folder

    return make


@pytest.fixture(scope="session")
def launch(
    build: Callable[[int | None], Path],
    models: Path,
    tools: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Launch]:
    """Returns a function: a launch of a pull request's build (None is main) on two GPUs, with the right drafter for k."""
    usual = tools()

    def make(pull: int | None = 40898, **more: Any) -> Launch:
        settings = {"tools": usual, "caches": tmp_path_factory.mktemp("caches"), **more}
        if settings.get("k") and "drafter" not in settings:
            settings["drafter"] = models / "Qwen3.6-27B-DFlash"
        return Launch(build=build(pull), models=models, **settings)

    return make


@pytest.fixture
def drafter(models: Path, tmp_path: Path) -> Callable[..., Path]:
    """Returns a function: a drafter's folder with the published weights, and the config changed by what is passed."""

    def make(**changes: Any) -> Path:
        source = models / "Qwen3.6-27B-DFlash"
        config = json.loads((source / "config.json").read_text())
        config["dflash_config"] |= changes.pop("dflash_config", {})
        folder = tmp_path / f"drafter-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / "model.safetensors").symlink_to(source / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(config | changes))
        return folder

    return make
