"""The lock on the host: one operation at a time, and none for ever."""

import json
from pathlib import Path

import pytest

from inventory.errors import LockedError
from roles.release.layout import Layout
from roles.release.lock import LEASE_S, Lock, Owner, stale_reason
from tests.local_shell import LocalShell

ANNA = Owner(who="anna", controller="desk", controller_boot="b1", pid=10, operation="op-anna", verb="deploy")
BERT = Owner(who="bert", controller="lap", controller_boot="b2", pid=20, operation="op-bert", verb="rollback")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(service="vllm", root=str(tmp_path / "opt"), logs=str(tmp_path / "log"))


def details(layout: Layout) -> Path:
    return Path(layout.base) / "lock" / "details.json"


def test_the_second_is_told_who_holds_it(layout: Layout) -> None:
    with Lock(LocalShell(), layout, ANNA, lambda pid: True):
        with pytest.raises(LockedError, match=r"locked by anna at desk: deploy"):
            Lock(LocalShell(), layout, BERT, lambda pid: True).__enter__()
        assert json.loads(details(layout).read_text())["nonce"] == "op-anna"
    assert not details(layout).parent.exists()


def test_it_is_free_again_after_an_error(layout: Layout) -> None:
    with pytest.raises(RuntimeError), Lock(LocalShell(), layout, ANNA, lambda pid: True):
        raise RuntimeError
    with Lock(LocalShell(), layout, BERT, lambda pid: True):
        pass


def test_a_lock_of_a_dead_process_on_this_machine_is_taken_over(layout: Layout) -> None:
    Lock(LocalShell(), layout, ANNA, lambda pid: True).__enter__()
    later = Owner(**{**ANNA.__dict__, "operation": "op-2", "pid": 11})
    with Lock(LocalShell(), layout, later, lambda pid: pid != 10):
        assert json.loads(details(layout).read_text())["nonce"] == "op-2"


def test_an_expired_lease_is_taken_over(layout: Layout) -> None:
    Lock(LocalShell(), layout, ANNA, lambda pid: True).__enter__()
    held = json.loads(details(layout).read_text())
    details(layout).write_text(json.dumps({**held, "expires": 1}))
    with Lock(LocalShell(), layout, BERT, lambda pid: True):
        assert json.loads(details(layout).read_text())["who"] == "bert"


def test_a_lock_without_readable_details_does_not_lock_for_ever(layout: Layout) -> None:
    details(layout).parent.mkdir(parents=True)
    with Lock(LocalShell(), layout, BERT, lambda pid: True):
        assert json.loads(details(layout).read_text())["who"] == "bert"


def test_leaving_does_not_take_away_somebody_elses_lock(layout: Layout) -> None:
    lock = Lock(LocalShell(), layout, ANNA, lambda pid: True)
    with lock:
        held = json.loads(details(layout).read_text())
        details(layout).write_text(json.dumps({**held, "nonce": "op-bert"}))
    assert details(layout).exists()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, None),
        ({"boot_id": "other"}, "restarted"),
        ({"expires": 99}, "sign of life"),
        ({"nonce": ""}, "nothing about its owner"),
        ({"controller": "desk", "controller_boot": "b1", "pid": 10}, None),
        ({"controller": "desk", "controller_boot": "b1", "pid": 11}, "is gone"),
        ({"controller": "desk", "controller_boot": "before the reboot", "pid": 11}, None),
    ],
)
def test_when_a_lock_is_stale(change: dict[str, object], expected: str | None) -> None:
    held = {"nonce": "n", "boot_id": "host", "expires": 100 + LEASE_S, "controller": "lap", "controller_boot": "b2"}
    reason = stale_reason({**held, **change}, now=100, boot_id="host", me=ANNA, alive=lambda pid: pid == 10)
    assert (reason is None) if expected is None else (reason is not None and expected in reason)
