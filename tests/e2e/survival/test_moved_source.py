"""The pull request that serves is force-pushed or deleted: a commit is a commit, and a rollback needs no repository."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.survival.ground import Ground
from tests.lab.repository import Repository

PULL = 40898
REF = f"refs/pull/{PULL}/head"


def git(folder: Path, *words: str) -> str:
    """Run git on the lab's repository."""
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(ground: Ground) -> Iterator[Repository]:
    """The engine's repository; afterwards the pull request is where it was."""
    folder = ground.lab.layout.git
    heads = {PULL: git(folder, "rev-parse", REF)}
    main = git(folder, "rev-parse", "main")
    there = Repository(folder, main, git(folder, "merge-base", main, heads[PULL]), dict(heads))
    yield there
    if not folder.exists():
        folder.with_name("git.gone").rename(folder)
    git(folder, "update-ref", REF, heads[PULL])


def test_the_old_commit_is_kept_and_said_until_a_deploy_with_update(ground: Ground, repository: Repository) -> None:
    ground.converge("15")
    before = ground.seen()
    old = ground.commit_of(before.current)
    new = repository.force_push(PULL)

    kept = ground.run("deploy", "--tokens", "15")
    assert kept.code == 0, kept.all
    assert f"has moved on to {new[:12]}; {old[:12]} is kept until a deploy with --update" in kept.all
    assert ground.seen() == before

    other = ground.run("deploy", "--tokens", "5")
    assert other.code == 0, other.all
    assert ground.commit_of(ground.seen().current) == old

    followed = ground.run("deploy", "--tokens", "5", "--update")
    assert followed.code == 0, followed.all
    assert ground.seen().settled
    assert ground.commit_of(ground.seen().current) == new


def test_a_rollback_after_the_pull_request_is_gone_needs_no_repository(ground: Ground, repository: Repository) -> None:
    ground.converge("15")
    before = ground.seen()
    old = ground.commit_of(before.current)
    ground.converge("5")
    git(repository.folder, "update-ref", "-d", REF)

    kept = ground.run("deploy", "--tokens", "5")
    assert kept.code == 0, kept.all
    assert "is gone" in kept.all
    assert f"{old[:12]} is kept" in kept.all

    repository.folder.rename(repository.folder.with_name("git.gone"))
    rolled_back = ground.run("rollback")
    assert rolled_back.code == 0, rolled_back.all
    after = ground.seen()
    assert after.settled
    assert after.current == before.current
    assert ground.serves()
