"""What has to happen for an engine, and what is in the way of it."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import PreflightError
from inventory.models import Engine
from roles.engine.facts import TOOLS, EngineFacts
from roles.engine.naming import venv_name
from roles.engine.plan import plan
from roles.engine.provenance import Provenance
from roles.engine.push import LocalUv, local_uv, on_host
from roles.engine.resolve import Resolution
from roles.engine.source import parse

BASE = "/opt/specrail/vllm"
LOCAL = LocalUv(Path("/ctl/uv"), "0.13.9", 61_000_000, "x86_64", "Linux")
ENGINE = Engine(source="pr:40898")
RESOLUTION = Resolution(parse("pr:40898"), commit="6f1e2d3c4b5a" + "0" * 28, notes=("a release has it",))
HAVE = EngineFacts(
    python="3.12.3",
    tools=frozenset(TOOLS),
    uv={"0.13.9": "/opt/specrail/vllm/bin/uv-0.13.9"},
    free_bytes=50_000_000_000,
    arch="x86_64",
    libc="glibc 2.39",
)


def decide(engine: Engine = ENGINE, **other: Any) -> Any:
    resolution = Resolution(parse(engine.source), commit=RESOLUTION.commit, notes=RESOLUTION.notes)
    return plan(engine, resolution, replace(HAVE, **other), BASE, LOCAL)


def test_built_engine_needs_nothing_and_says_so() -> None:
    name = venv_name(ENGINE, RESOLUTION)
    decided = decide(venvs={name: Provenance(kind="vllm", source="pr:40898")}, free_bytes=0, tools=frozenset())
    (step,) = decided.steps
    assert (step.changes, step.summary, step.note) == (False, "engine vllm 6f1e2d3c4b5a is built", "a release has it")
    assert (decided.build, decided.venv) == (False, f"{BASE}/venvs/{name}")


def test_missing_engine_is_built_and_the_notes_stand_beside_it() -> None:
    decided = decide()
    (step,) = decided.steps
    assert (step.action, step.summary) == ("build", "build engine vllm 6f1e2d3c4b5a from pull request 40898")
    assert step.note == "a release has it"
    assert decided.push is None
    assert decided.packages == ()


def test_uv_is_sent_where_the_host_lacks_it() -> None:
    decided = decide(uv={})
    assert decided.steps[0].summary == "send uv 0.13.9 to the host (61 MB)"
    assert (decided.push, decided.uv) == (LOCAL, f"{BASE}/bin/uv-0.13.9")


@pytest.mark.parametrize(
    ("uv", "chosen"),
    [
        ({"0.13.9": "/pushed", "0.14.0": "/usr/bin/uv"}, "/pushed"),
        ({"0.14.0": "/usr/bin/uv", "0.9.12": "/old"}, "/usr/bin/uv"),
        ({"0.6.9": "/usr/bin/uv"}, None),
        ({}, None),
    ],
)
def test_uv_of_the_host_is_used_when_it_is_new_enough(uv: dict[str, str], chosen: str | None) -> None:
    assert on_host(replace(HAVE, uv=uv), LOCAL) == chosen


def test_git_and_a_compiler_are_installed_where_they_are_missing() -> None:
    decided = decide(tools=frozenset({"flock", "apt-get"}))
    assert decided.packages == ("git", "build-essential", "python3-dev")
    assert decided.steps[0].summary == "install git, build-essential, python3-dev with apt-get"
    assert decide(Engine(source="release:0.33.0"), tools=frozenset({"flock", "apt-get", "cc"})).packages == ()


@pytest.mark.parametrize(
    ("engine", "facts", "says", "tries"),
    [
        (
            {},
            {"free_bytes": 9_500_000_000},
            "9.5 GB are free below /opt/specrail/vllm, the build needs 12.0 GB",
            "rootfs_gib",
        ),
        ({"build": "source"}, {"free_bytes": 20_000_000_000}, "the build needs 40.0 GB", "rootfs_gib"),
        ({"index_url": "none"}, {"free_bytes": 100_000_000}, "the build needs 0.3 GB", "rootfs_gib"),
        ({"torch_backend": "cpu"}, {"free_bytes": 3_900_000_000}, "the build needs 4.0 GB", "rootfs_gib"),
        ({"index_url": "none", "find_links": ["/w"]}, {"free_bytes": 10**9}, "the build needs 12.0 GB", "rootfs_gib"),
        ({}, {"libc": "musl"}, "musl", "container.template"),
        ({"source": "release:0.33.0", "index_url": "none"}, {}, "release:0.33.0 needs a package index", "wheel:"),
        ({"source": "path:/srv/vllm"}, {}, "there is no /srv/vllm on the host", "engine.source"),
        ({}, {"python": None}, "the host has no python3", "engine.python"),
        ({"index_url": "none", "python": "3.12"}, {"python": None}, "the host has no python3.12", "apt-get install"),
        ({}, {"tools": frozenset(TOOLS) - {"flock"}}, "no flock", "util-linux"),
        ({"index_url": "none"}, {"tools": frozenset(TOOLS) - {"git"}}, "the host lacks git", "apt-get install -y git"),
        ({}, {"tools": frozenset({"flock", "git"})}, "the host lacks build-essential", "build-essential"),
        ({}, {"uv": {}, "arch": "aarch64"}, "(Linux x86_64) does not run on aarch64", "astral.sh"),
    ],
)
def test_what_is_in_the_way_is_told_before_anything_happens(
    engine: dict[str, str], facts: dict[str, Any], says: str, tries: str
) -> None:
    with pytest.raises(PreflightError) as told:
        decide(Engine.model_validate({"source": "pr:40898", **engine}), **facts)
    assert says in told.value.what
    assert tries in "\n".join(told.value.tries)


def test_a_folder_of_wheels_is_as_good_as_an_index() -> None:
    assert decide(Engine(source="release:0.33.0", index_url="none", find_links=("/mnt/wheels",))).build


def test_all_that_is_in_the_way_is_told_at_once() -> None:
    with pytest.raises(PreflightError, match="2 things are in the way") as told:
        decide(free_bytes=0, libc="musl")
    assert any("0.0 GB are free" in line for line in told.value.why)
    assert any("musl" in line for line in told.value.why)


def test_space_is_enough_at_exactly_what_is_needed_and_unknown_space_is_no_obstacle() -> None:
    assert decide(free_bytes=12_000_000_000).build
    assert decide(free_bytes=None).build


def test_controllers_uv_is_there_and_runs() -> None:
    local = local_uv()
    said = subprocess.run([local.path, "--version"], capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"uv {local.version}")
    assert local.remote_path(BASE) == f"{BASE}/bin/uv-{local.version}"
    assert local.size_bytes > 1_000_000
