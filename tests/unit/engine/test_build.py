"""The build script, run for real: real git, real uv, a tiny engine, no index."""

import fcntl
import hashlib
import json
import re
import subprocess
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from inventory.models import Engine
from roles.engine import provenance
from roles.engine.build import PHASES, REFUSED, branch, phase, script
from roles.engine.explain import explain
from roles.engine.facts import EngineFacts
from roles.engine.plan import EnginePlan, plan
from roles.engine.push import local_uv
from roles.engine.resolve import Resolution, resolve
from roles.engine.source import parse
from tests.unit.engine.upstream import Upstream, git, make, module

FACTS = EngineFacts(python="3.11.7", tools=frozenset({"git", "cc", "flock", "apt-get"}), arch=local_uv().machine)


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    repository = make(tmp_path_factory.mktemp("git") / "vllm")
    repository.commit("refs/pull/7/head", {"vllm/__init__.py": module("1.0.1.dev7")})
    repository.commit("refs/pull/8/head", {"csrc/kernel.cu": "int main;", "vllm/__init__.py": module("1.0.1.dev8")})
    repository.commit("refs/pull/9/head", {"requirements/cuda.txt": "torch == 2.12.0\n"})
    repository.commit("refs/pull/10/head", {"vllm/__init__.py": "import torch_that_is_not_there\n"})
    return repository


class Host:
    """A folder that stands for a service's folder on a host."""

    def __init__(self, base: Path, upstream: Upstream) -> None:
        self.base = base
        self.upstream = upstream

    def engine(self, source: str, **more: object) -> Engine:
        return Engine.model_validate({"source": source, "repository": self.upstream.url, "index_url": "none", **more})

    def plan(self, engine: Engine, resolution: Resolution) -> EnginePlan:
        return replace(plan(engine, resolution, FACTS, str(self.base), local_uv()), uv=str(local_uv().path))

    def render(self, engine: Engine, resolution: Resolution | None = None, **more: int) -> tuple[str, Path]:
        resolution = resolution or resolve(engine, None, False)
        decided = self.plan(engine, resolution)
        return script(engine, resolution, decided, str(self.base), **more), Path(decided.venv)

    def build(self, engine: Engine, resolution: Resolution | None = None, **more: int) -> tuple[int, str, Path]:
        """Status, output and venv of one build."""
        text, venv = self.render(engine, resolution, **more)
        ran = subprocess.run(
            ["dash"], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=120
        )
        return ran.returncode, ran.stdout, venv


@pytest.fixture
def host(tmp_path: Path, upstream: Upstream) -> Host:
    return Host(tmp_path / "vllm", upstream)


def test_pull_request_becomes_a_venv_with_provenance(host: Host) -> None:
    engine = host.engine("pr:7")
    status, output, venv = host.build(engine)
    assert (status, output.splitlines()[-1]) == (0, "specrail: phase done"), output
    head = git(host.upstream.folder, "rev-parse", "refs/pull/7/head")
    base = git(host.upstream.folder, "rev-parse", "main")
    assert venv.name.startswith(f"vllm-{head[:12]}-")
    built = provenance.read((venv / provenance.FILE).read_text())
    assert built is not None
    assert (built.source, built.repository, built.ref) == ("pr:7", host.upstream.url, "refs/pull/7/head")
    assert (built.commit, built.merge_base, built.version) == (head, base, "1.0.1.dev7")
    assert (built.build, built.torch_backend) == ("precompiled", "auto")
    assert built.built_at is not None
    assert datetime.fromisoformat(built.built_at).utcoffset() == timedelta(0)
    assert built.python is not None
    assert re.fullmatch(r"3\.\d+\.\d+", built.python)
    assert built.freeze_sha256 == hashlib.sha256((venv / "freeze.txt").read_bytes()).hexdigest()
    assert built.duration_s is not None
    serves = subprocess.run([venv / "bin/vllm"], capture_output=True, text=True, check=True)
    assert serves.stdout == "1.0.1.dev7\n"


def test_phases_are_told_in_order(host: Host) -> None:
    _, output, _ = host.build(host.engine("branch:main"))
    told = [found for line in output.splitlines() if (found := phase(line))]
    assert told == [name for name in PHASES if name != "packages"]


def test_checkout_is_a_branch_and_the_wheel_of_the_merge_base_is_named(host: Host) -> None:
    """A detached HEAD or a guessed commit would put a nightly's libraries under this Python code."""
    engine = host.engine("pr:7")
    resolution = resolve(engine, None, False)
    _, _, venv = host.build(engine, resolution)
    (checkout,) = (host.base / "src").iterdir()
    assert git(checkout, "branch", "--show-current") == branch(resolution) == f"specrail-pr-7-{resolution.label}"
    seen = subprocess.run(
        [venv / "bin/python", "-c", "import json, vllm; print(json.dumps(vllm.BUILT_WITH))"],
        capture_output=True,
        text=True,
        check=True,
    )
    base = git(host.upstream.folder, "rev-parse", "main")
    assert json.loads(seen.stdout) == {"VLLM_USE_PRECOMPILED": "1", "VLLM_PRECOMPILED_WHEEL_COMMIT": base}


def test_two_commits_with_the_same_project_file_are_two_engines(host: Host) -> None:
    """uv has a cache of built folders, and both commits are built in the same one."""
    versions = []
    for source in ("branch:main", "pr:7"):
        status, output, venv = host.build(host.engine(source))
        assert status == 0, output
        versions.append(json.loads((venv / provenance.FILE).read_text())["version"])
    assert versions == ["1.0.0", "1.0.1.dev7"]


def test_second_build_leaves_a_whole_venv_alone(host: Host) -> None:
    engine = host.engine("pr:7")
    _, _, venv = host.build(engine)
    before = {path: path.lstat().st_mtime_ns for path in venv.rglob("*")}
    status, output, _ = host.build(engine)
    assert status == 0
    assert "it is built already" in output
    assert {path: path.lstat().st_mtime_ns for path in venv.rglob("*")} == before


def test_a_build_that_did_not_end_is_removed_and_made_anew(host: Host) -> None:
    engine = host.engine("pr:7")
    _, venv = host.render(engine)
    (venv / "bin").mkdir(parents=True)
    (venv / "bin/half").touch()
    stray = venv.parent / "vllm-0000-stray"
    stray.mkdir()
    status, output, _ = host.build(engine)
    assert status == 0, output
    assert not (venv / "bin/half").exists()
    assert not stray.exists()
    assert (venv / provenance.FILE).exists()


@pytest.mark.parametrize(("number", "named"), [(8, "csrc/kernel.cu"), (9, "+torch == 2.12.0")])
def test_change_of_compiled_code_is_refused_for_a_precompiled_build(host: Host, number: int, named: str) -> None:
    status, output, venv = host.build(host.engine(f"pr:{number}"))
    assert status == REFUSED
    assert not venv.exists()
    error = explain(output, status, title=f"pull request {number}")
    assert error.what == f"pull request {number}: this source changes compiled code, and engine.build is precompiled"
    assert named in error.why[0]
    assert error.tries[0].startswith("engine.build: source")


def test_the_same_change_is_compiled_when_that_is_asked_for(host: Host) -> None:
    status, output, _ = host.build(host.engine("pr:8", build="source"))
    assert status == 0, output
    assert "compiling with MAX_JOBS=" in output


def test_import_that_fails_leaves_no_provenance_and_is_explained(host: Host) -> None:
    status, output, venv = host.build(host.engine("pr:10"))
    assert status != 0
    assert "specrail: failed in phase check" in output
    assert not (venv / provenance.FILE).exists()
    assert "torch_that_is_not_there" in explain(output, status).what


def test_commit_that_is_gone_is_told(host: Host) -> None:
    status, output, _ = host.build(host.engine("commit:" + "a1" * 20))
    assert status == REFUSED
    assert "no longer has commit a1a1" in explain(output, status).what


def test_old_commit_of_a_pull_request_that_was_pushed_over_is_still_built(host: Host) -> None:
    old = host.upstream.commit("refs/pull/77/head", {"vllm/__init__.py": module("1.0.1.old")})
    host.upstream.commit("refs/pull/77/head", {"vllm/__init__.py": module("1.0.1.new")})
    status, output, venv = host.build(host.engine("pr:77", commit=old))
    assert status == 0, output
    assert json.loads((venv / provenance.FILE).read_text())["version"] == "1.0.1.old"


def test_a_server_that_cannot_leave_contents_out_is_good_enough(host: Host, tmp_path: Path) -> None:
    plain = make(tmp_path / "plain")
    git(plain.folder, "config", "uploadpack.allowFilter", "false")
    status, output, _ = Host(host.base, plain).build(Host(host.base, plain).engine("branch:main"))
    assert status == 0, output


def test_checkout_on_the_host_is_built_where_it_lies(host: Host) -> None:
    engine = host.engine(f"path:{host.upstream.folder}")
    resolution = Resolution(parse(engine.source), commit=git(host.upstream.folder, "rev-parse", "HEAD"))
    text = script(
        engine,
        resolution,
        EnginePlan(steps=(), venv=str(host.base / "venvs/vllm-here"), build=True, uv=str(local_uv().path)),
        str(host.base),
    )
    ran = subprocess.run(["dash"], input=text, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    built = provenance.read((host.base / "venvs/vllm-here" / provenance.FILE).read_text())
    assert built is not None
    assert (built.commit, built.version, built.repository) == (resolution.commit, "1.0.0", None)


def test_two_builds_of_one_service_do_not_meet(host: Host) -> None:
    (host.base / "venvs").mkdir(parents=True)
    with (host.base / "venvs/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, output, venv = host.build(host.engine("pr:7"), lock_wait_s=0)
    assert status == REFUSED
    assert not venv.exists()
    assert "another build on this host does not end" in explain(output, status).what
