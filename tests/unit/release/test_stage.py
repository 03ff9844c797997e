"""Staging: a release is there whole, with its modes, or not at all."""

import os
import stat
from pathlib import Path

import pytest

from inventory.errors import CommandError
from roles.release.layout import Layout
from roles.release.stage import File, Staging, archive, script, stage
from tests.local_shell import LocalShell

RELEASE = "2026-11-29T10-00-00Z-aaaa"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(service="vllm", root=str(tmp_path / "opt"), logs=str(tmp_path / "log"))


def test_files_have_their_modes_whatever_the_umask(layout: Layout) -> None:
    before = os.umask(0o077)
    try:
        stage(
            LocalShell(),
            layout,
            Staging(RELEASE, {"launch.sh": File(b"#!/bin/sh\n", 0o755), "server.env": File(b"K=v\n", 0o600)}),
        )
    finally:
        os.umask(before)
    folder = Path(layout.release(RELEASE))
    modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in folder.iterdir()}
    assert modes == {"launch.sh": 0o755, "server.env": 0o600}


def test_weights_are_linked_and_the_releases_own_config_wins(layout: Layout, tmp_path: Path) -> None:
    weights = tmp_path / "models" / "drafter"
    weights.mkdir(parents=True)
    (weights / "config.json").write_text("the folder's")
    (weights / "model.safetensors").write_text("weights")
    (weights / "name with spaces").write_text("odd")
    staging = Staging(RELEASE, {"drafter/config.json": File(b"ours")}, links=(("drafter", str(weights)),))
    stage(LocalShell(), layout, staging)
    drafter = Path(layout.release(RELEASE)) / "drafter"
    assert (drafter / "config.json").read_text() == "ours"
    assert (drafter / "model.safetensors").resolve() == weights / "model.safetensors"
    assert (drafter / "name with spaces").is_symlink()


def test_half_a_release_is_never_seen(layout: Layout) -> None:
    staging = Staging(RELEASE, {"launch.sh": File(b"x")})
    with pytest.raises(CommandError):
        LocalShell().run(script(layout, staging), stdin=archive(staging)[:700])
    assert not Path(layout.release(RELEASE)).exists()


def test_a_rest_of_an_earlier_try_is_replaced(layout: Layout) -> None:
    part = Path(layout.base) / "releases" / f".part-{RELEASE}"
    part.mkdir(parents=True)
    (part / "rest").write_text("old")
    stage(LocalShell(), layout, Staging(RELEASE, {"launch.sh": File(b"x", 0o755)}))
    assert [entry.name for entry in Path(layout.release(RELEASE)).iterdir()] == ["launch.sh"]
