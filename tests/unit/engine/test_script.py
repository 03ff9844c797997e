"""What the rendered build script says for each source, and which changes it takes for compiled code."""

import re
import subprocess

import pytest

from inventory.models import Engine
from roles.engine.build import COMPILED_LINES, COMPILED_PATHS, script
from roles.engine.plan import EnginePlan
from roles.engine.resolve import Resolution
from roles.engine.source import parse

SOURCES = [
    "release:0.33.0",
    "pr:40898",
    "branch:it/is.a-branch",
    "commit:" + "ab" * 20,
    "wheel:https://example.org/vllm-0.33.0+cu130-cp38-abi3-manylinux_2_31_x86_64.whl",
    "path:/srv/vllm",
]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "more", [{}, {"build": "source"}, {"python": "3.12", "index_url": "https://example.org/it's+simple"}]
)
def test_script_is_shell_for_every_source(source: str, more: dict[str, str]) -> None:
    engine = Engine.model_validate({"source": source, "torch_backend": "cu130", **more})
    resolution = Resolution(parse(source), commit="ab" * 20 if "pr" in source or "branch" in source else None)
    decided = EnginePlan(steps=(), venv="/b/venvs/v", build=True, uv="/b/bin/uv-1", packages=("git", "build-essential"))
    text = script(engine, resolution, decided, "/b")
    assert subprocess.run(["dash", "-n"], input=text, capture_output=True, text=True, check=True).stderr == ""
    assert "\n\n\n" not in text
    assert "--torch-backend cu130" in text
    assert "--no-index" not in text
    assert ("vllm==0.33.0" in text) == (source == "release:0.33.0")


def test_a_release_needs_no_git() -> None:
    engine = Engine(source="release:0.33.0")
    decided = EnginePlan(steps=(), venv="/b/venvs/v", build=True, uv="/b/bin/uv-1")
    assert "fetch" not in script(engine, Resolution(parse(engine.source), version="0.33.0"), decided, "/b")


@pytest.mark.parametrize(
    ("path", "compiled"),
    [
        ("csrc/attention.cu", True),
        ("CMakeLists.txt", True),
        ("cmake/utils.cmake", True),
        ("rust/src/main.rs", True),
        ("vllm/vllm_flash_attn/src/a.h", True),
        ("vllm/model_executor/models/qwen3_dflash.py", False),
        ("docs/csrc.md", False),
        ("tests/csrc/test_a.py", False),
        ("requirements/cuda.txt", False),
    ],
)
def test_paths_that_end_up_in_libraries_are_told_from_others(path: str, compiled: bool) -> None:
    assert bool(re.search(COMPILED_PATHS, path)) is compiled


@pytest.mark.parametrize(
    ("line", "compiled"),
    [
        ("+torch == 2.12.0", True),
        ('-    "torch==2.11.0",', True),
        ("+    ext_modules.append(CMakeExtension(name='vllm._C'))", True),
        ("+++ b/requirements/torch.txt == x", False),
        (" torch == 2.11.0", False),
        ("+transformers >= 5", False),
    ],
)
def test_lines_that_change_what_is_compiled_are_told_from_others(line: str, compiled: bool) -> None:
    assert bool(re.search(COMPILED_LINES, line)) is compiled
