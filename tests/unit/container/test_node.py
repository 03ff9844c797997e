"""What the node's root shell answers, asked for real and read from recordings."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.models import Paths
from roles.container.node import NodeFacts, parse, question
from tests.local_shell import LocalShell

CASES = {
    path.stem: json.loads(path.read_text())
    for path in (Path(__file__).parents[2] / "cases/container/node").glob("*.json")
}
DEVICES = ("nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-caps")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9k"


@pytest.mark.parametrize("name", sorted(CASES))
def test_answer_is_read(name: str) -> None:
    case = CASES[name]
    expected = case["facts"]
    assert parse(case["answer"]) == NodeFacts(
        pve=tuple(expected.get("pve", ())),
        driver=expected.get("driver"),
        devices=expected.get("devices", {}),
        host_keys=tuple(expected.get("host_keys", ())),
        has_pct=expected.get("has_pct", False),
        unread=tuple(expected.get("unread", ())),
    )


@given(st.text())
def test_any_answer_is_read(answer: str) -> None:
    """Never an exception, and what looks like no fact is none: keys are keys, versions are versions."""
    facts = parse(answer)
    assert all(key.startswith(("ssh-", "ecdsa-", "sk-")) for key in facts.host_keys)
    assert facts.driver is None or facts.driver[0].isdigit()


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a driver, a few devices and a pct that knows one running container."""
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  590.48.01  Release Build\n"
        "GCC version:  gcc version 14.2.0 (Debian 14.2.0-19)\n"
    )
    (tmp_path / "dev/nvidia-caps").mkdir(parents=True)
    for name in ("nvidia0", "nvidiactl"):
        (tmp_path / "dev" / name).touch()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, script in {
        "pveversion": "echo 'pve-manager/9.0.10/deb1ca707ec72a89 (running kernel: 6.14.11-3-pve)'",
        "pct": f'[ "$1 $2 $3 $4" = "exec 129 -- cat" ] || {{ echo "container not running!" >&2; exit 255; }}\n'
        f"echo '{KEY} root@ct129'; echo 'cat: /etc/ssh/ssh_host_ecdsa_key.pub: no such file' >&2; exit 1",
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return tmp_path


def ask(node: Path, ctid: int = 129, devices: tuple[str, ...] = DEVICES) -> NodeFacts:
    paths = Paths(procfs=f"{node}/proc", dev=f"{node}/dev")
    return parse(LocalShell().run(question(ctid, paths, devices)).stdout)


def test_a_real_shell_answers(node: Path) -> None:
    assert ask(node) == NodeFacts(
        pve=(9, 0, 10),
        driver="590.48.01",
        devices={"nvidia0": "device", "nvidiactl": "device", "nvidia-uvm": "missing", "nvidia-caps": "folder"},
        host_keys=(KEY,),
        has_pct=True,
    )


def test_a_container_that_does_not_run_has_no_keys_yet(node: Path) -> None:
    assert ask(node, ctid=130).host_keys == ()


def test_no_devices_are_asked_for_without_gpus(node: Path) -> None:
    assert ask(node, devices=()).devices == {}


def test_a_machine_that_is_no_node_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert ask(tmp_path) == NodeFacts(devices=dict.fromkeys(DEVICES, "missing"))


def test_devices_of_the_machine_itself_are_told_from_folders() -> None:
    devices = parse(LocalShell().run(question(129, Paths(), ["shm", "null", "nvidia99"])).stdout).devices
    assert devices == {"shm": "folder", "null": "device", "nvidia99": "missing"}
