"""The lab's repository looks like the engine's: branches, tags, pull requests that are replaced."""

import subprocess
from pathlib import Path

import pytest

from tests.lab import repository
from tests.lab.repository import Repository


@pytest.fixture
def made(tmp_path: Path) -> Repository:
    return repository.make(tmp_path / "vllm.git")


def git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def changed(made: Repository, number: int) -> list[str]:
    """Paths that a pull request changes, as a tool that resolves it would see them."""
    names = git("-C", str(made.folder), "diff", "--name-only", f"{made.main}...{made.pulls[number]}")
    return names.split()


def test_refs_are_what_a_remote_would_list(made: Repository) -> None:
    refs = {ref: sha for sha, ref in (line.split("\t") for line in git("ls-remote", made.url).splitlines())}
    assert refs["HEAD"] == refs["refs/heads/main"] == refs["refs/tags/v0.20.1"] == made.main
    assert refs["refs/tags/v0.20.0"] != made.main
    assert {number: refs[f"refs/pull/{number}/head"] for number in made.pulls} == made.pulls
    assert set(made.pulls) == {32374, 40727, 40898, 50001, 50002, 50003, 50004}


def test_the_same_source_gives_the_same_shas(made: Repository, tmp_path: Path) -> None:
    assert (again := repository.make(tmp_path / "again.git")).pulls == made.pulls
    assert again.main == made.main


def test_pull_requests_leave_main_before_its_head(made: Repository) -> None:
    for sha in made.pulls.values():
        assert git("-C", str(made.folder), "merge-base", made.main, sha).strip() == made.base != made.main


def test_only_one_pull_request_needs_compiling(made: Repository) -> None:
    assert [number for number in made.pulls if any(not path.endswith(".py") for path in changed(made, number))] == [
        50004
    ]
    assert changed(made, 40898) == ["vllm/features.py"]


def test_a_forced_push_replaces_the_head_and_keeps_the_old_commit_for_who_knows_it(
    made: Repository, tmp_path: Path
) -> None:
    old = made.pulls[40898]
    new = made.force_push(40898)
    assert new == made.pulls[40898] != old
    assert git("ls-remote", made.url, "refs/pull/40898/head").split()[0] == new
    assert git("-C", str(made.folder), "merge-base", old, new).strip() == made.base
    assert changed(made, 40898) == ["vllm/features.py"]
    assert made.force_push(40898) not in {old, new}
    git("init", "--quiet", str(tmp_path / "clone"))
    git("-C", str(tmp_path / "clone"), "fetch", "--quiet", "--filter=blob:none", made.url, old)
