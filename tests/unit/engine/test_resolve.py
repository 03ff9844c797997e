"""Which commit an engine's source means: real repositories, and ones that do not answer."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import EngineError
from inventory.models import Engine
from roles.engine.provenance import Provenance
from roles.engine.resolve import resolve
from tests.unit.engine.upstream import Upstream, git, make, module

OLD, NEW = "0a" * 20, "1b" * 20
UPSTREAM_URL = "https://github.com/vllm-project/vllm.git"


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Upstream:
    repository = make(tmp_path_factory.mktemp("git") / "vllm")
    repository.commit("refs/pull/7/head", {"vllm/__init__.py": module("7")})
    return repository


def answers(stdout: str = "", stderr: str = "", status: int = 0) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """A git that says this."""
    return lambda *_, **__: subprocess.CompletedProcess([], status, stdout, stderr)


def breaks(error: Exception) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """A git that cannot be run to its end."""

    def run(*_: object, **__: object) -> "subprocess.CompletedProcess[str]":
        raise error

    return run


def points_to(sha: str) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    return answers(f"{sha}\trefs/pull/7/head\n")


def pr(**more: Any) -> Engine:
    return Engine.model_validate({"source": "pr:7", "repository": UPSTREAM_URL, **more})


def running(commit: str, **more: Any) -> Provenance:
    return replace(Provenance(kind="vllm", source="pr:7", repository=UPSTREAM_URL, commit=commit), **more)


def test_pull_request_is_resolved_to_its_head(upstream: Upstream) -> None:
    found = resolve(pr(repository=upstream.url), None, False)
    assert found.commit == git(upstream.folder, "rev-parse", "refs/pull/7/head")
    assert (found.ref, found.moved_to, found.notes) == ("refs/pull/7/head", None, ())
    assert found.label == (found.commit or "")[:12]


def test_branch_is_resolved_to_its_head(upstream: Upstream) -> None:
    found = resolve(Engine(source="branch:main", repository=upstream.url), None, False)
    assert (found.commit, found.ref) == (git(upstream.folder, "rev-parse", "main"), "refs/heads/main")


def test_unknown_pull_request_says_so(upstream: Upstream) -> None:
    with pytest.raises(EngineError, match="pull request 8 is not known to file://") as told:
        resolve(pr(source="pr:8", repository=upstream.url), None, False)
    assert "The repository answered, and it has no refs/pull/8/head." in told.value.why


def test_longer_ref_of_the_same_ending_is_not_taken_for_it() -> None:
    """git ls-remote matches the end of a ref's path."""
    run = answers(f"{OLD}\trefs/heads/refs/pull/7/head\n{NEW}\trefs/pull/7/head\n")
    assert resolve(pr(), None, False, run).commit == NEW


def test_pin_wins_and_asks_nobody() -> None:
    assert resolve(pr(commit=OLD), running(NEW), True, breaks(AssertionError("asked"))).commit == OLD


@pytest.mark.parametrize(
    ("source", "commit", "version"),
    [
        ("release:0.33.0", None, "0.33.0"),
        ("commit:" + OLD, OLD, None),
        (
            "wheel:https://example.org/vllm-0.23.0%2Bcu129-cp38-abi3-manylinux_2_31_x86_64.whl#sha256=0",
            None,
            "0.23.0+cu129",
        ),
        ("wheel:/srv/engine.whl", None, None),
    ],
)
def test_sources_that_do_not_move_ask_nobody(source: str, commit: str | None, version: str | None) -> None:
    found = resolve(Engine(source=source), None, False, breaks(AssertionError("asked")))
    assert (found.commit, found.version, found.ref) == (commit, version, None)


def test_checkout_on_the_host_has_the_commit_that_the_host_says() -> None:
    assert resolve(Engine(source="path:/srv/vllm"), None, False, path_commit=OLD).commit == OLD
    assert resolve(Engine(source="path:/srv/vllm"), None, False).label == "path"


def test_commit_that_the_host_runs_is_kept_when_the_head_has_moved_on() -> None:
    found = resolve(pr(), running(OLD), False, points_to(NEW))
    assert (found.commit, found.moved_to) == (OLD, NEW)
    assert found.notes == (
        f"pull request 7 has moved on to {NEW[:12]}; {OLD[:12]} is kept until a deploy with --update",
    )


def test_update_follows_the_head() -> None:
    found = resolve(pr(), running(OLD), True, points_to(NEW))
    assert (found.commit, found.moved_to, found.notes) == (NEW, None, ())


def test_head_that_has_not_moved_is_no_news() -> None:
    found = resolve(pr(), running(NEW), False, points_to(NEW))
    assert (found.commit, found.moved_to, found.notes) == (NEW, None, ())


@pytest.mark.parametrize(
    "other", [{"source": "pr:8"}, {"repository": "https://example.org/fork.git"}, {"kind": "other"}]
)
def test_commit_of_another_source_is_not_kept(other: dict[str, str]) -> None:
    assert resolve(pr(), running(OLD, **other), False, points_to(NEW)).commit == NEW


@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize(
    ("run", "says"),
    [
        (answers(stderr="fatal: unable to access: Could not resolve host: github.com", status=128), "does not answer"),
        (breaks(subprocess.TimeoutExpired("git", 30)), "did not end within 30 s"),
        (breaks(FileNotFoundError()), "no git on this machine"),
        (answers(), "pull request 7 is gone"),
    ],
)
def test_repository_that_does_not_answer_is_no_failure_when_a_commit_is_known(
    run: Any, says: str, update: bool
) -> None:
    found = resolve(pr(), running(OLD), update, run)
    assert found.commit == OLD
    assert says in found.notes[-1]


@pytest.mark.parametrize(
    ("stderr", "tries"),
    [
        ("fatal: unable to access 'https://x/': Could not resolve host: x", f"git ls-remote {UPSTREAM_URL}"),
        (
            "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
            "load a key that may read it",
        ),
        (
            "git@github.com: Permission denied (publickey).\nfatal: Could not read from remote repository.",
            "engine.commit",
        ),
        (
            "remote: Repository not found.\nfatal: repository 'https://github.com/a/b.git/' not found",
            "check engine.repository",
        ),
    ],
)
def test_repository_that_does_not_answer_is_explained(stderr: str, tries: str) -> None:
    with pytest.raises(EngineError, match=f"pull request 7 cannot be looked up at {UPSTREAM_URL}") as told:
        resolve(pr(), None, False, answers(stderr=stderr, status=128))
    assert any(line.startswith(tries) for line in told.value.tries)
    assert told.value.why[0].startswith("fatal: ")


def test_nobody_is_asked_for_a_password() -> None:
    asked: dict[str, Any] = {}

    def run(argv: list[str], **how: Any) -> "subprocess.CompletedProcess[str]":
        asked.update(how, argv=argv)
        return subprocess.CompletedProcess(argv, 0, f"{NEW}\trefs/pull/7/head\n", "")

    resolve(pr(), None, False, run)
    assert asked["argv"] == ["git", "ls-remote", "--", UPSTREAM_URL, "refs/pull/7/head"]
    assert (asked["env"]["GIT_TERMINAL_PROMPT"], asked["stdin"], asked["timeout"]) == ("0", subprocess.DEVNULL, 30)


@pytest.mark.parametrize(("number", "says"), [(40898, "releases from 0.26.0"), (40727, "releases from 0.22.0")])
def test_pull_request_that_a_release_contains_is_told(number: int, says: str) -> None:
    found = resolve(pr(source=f"pr:{number}", commit=OLD), None, False)
    assert says in found.notes[0]
    assert "install release:0.33.0 instead" in found.notes[0]


def test_the_same_number_elsewhere_is_another_pull_request(tmp_path: Path) -> None:
    assert resolve(pr(source="pr:40898", repository=f"file://{tmp_path}", commit=OLD), None, False).notes == ()
