"""The lab.* tasks: what a person types, what is said where, and the exit code."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from invoke.collection import Collection
from invoke.program import Program

from tests.lab import tasks
from tests.lab.ground import Lab

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(capfd: pytest.CaptureFixture[str]) -> Typed:
    """Type an invoke command; returns its exit code, stdout and stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        code = 0
        try:
            Program(namespace=Collection(tasks.lab)).run(["invoke", *words], exit=True)
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capfd.readouterr()
        return code, out, err

    return run


def test_status_tells_people_and_programs_the_same(lab: Lab, typed: Typed) -> None:
    lab.reset()
    folder = str(lab.layout.folder)
    code, out, err = typed("lab.status", "--folder", folder)
    assert (code, err) == (0, "")
    assert f"inventory   {folder}/hosts.yml" in out
    code, out, _ = typed("lab.status", "--folder", folder, "--json")
    facts: dict[str, Any] = json.loads(out)
    assert (code, facts["up"], facts["faults"]) == (0, True, [])
    assert facts["traffic"]["api_writes"] == 0


def test_faults_are_listed_switched_on_and_off_and_reset(lab: Lab, typed: Typed) -> None:
    lab.reset()
    folder = ("--folder", str(lab.layout.folder))
    _, out, _ = typed("lab.fault")
    assert "quorum-lost     The cluster has no quorum" in out
    _, out, _ = typed("lab.fault", "--name", "api-slow", "--set", "seconds=5", *folder)
    assert out.startswith("api-slow is on.")
    assert lab.status()["faults"] == ["api-slow"]
    typed("lab.fault", "--name", "api-slow", "--off", *folder)
    assert lab.status()["faults"] == []
    typed("lab.fault", "--name", "quorum-lost", *folder)
    assert typed("lab.reset", *folder)[0] == 0
    assert lab.status()["faults"] == []


def test_a_fault_of_one_container_is_named_by_its_number(shared: Lab, typed: Typed) -> None:
    typed("lab.fault", "--name", "ssh-down", "--ctid", "129", "--folder", str(shared.layout.folder))
    assert shared.status()["faults"] == ["ssh-down 129"]


def test_up_is_content_with_a_lab_that_runs(lab: Lab, typed: Typed) -> None:
    code, out, _ = typed("lab.up", "--folder", str(lab.layout.folder))
    assert code == 0
    assert f"invoke deploy --host ct129 --inventory {lab.inventory}" in out


def test_a_wrong_fault_is_a_usage_error_without_a_traceback(lab: Lab, typed: Typed) -> None:
    code, out, err = typed("lab.fault", "--name", "earthquake", "--folder", str(lab.layout.folder))
    assert (code, out) == (2, "")
    assert "no fault is called earthquake" in err
    assert "invoke lab.fault" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--name", "gpu-lst"), "did you mean gpu-lost?"),
        (("--name", "gpu-lost", "--ctid", "999"), "gpu-lost takes --set index=..., not ctid"),
        (("--name", "quorum-lost", "--set", "a=1"), "quorum-lost takes no argument, not a"),
    ],
)
def test_a_fault_that_is_nearly_right_is_put_right(lab: Lab, typed: Typed, words: tuple[str, ...], says: str) -> None:
    code, out, err = typed("lab.fault", *words, "--folder", str(lab.layout.folder))
    assert (code, out) == (2, "")
    assert says in " ".join(err.split())


def test_a_port_that_is_in_use_is_said_in_words(shared: Lab, typed: Typed) -> None:
    port = shared.status()["containers"]["ct129"]["server_port"]
    with socket.create_server(("127.0.0.1", port)):
        words = ("--name", "port-taken", "--ctid", "129", "--folder", str(shared.layout.folder))
        code, _, err = typed("lab.fault", *words)
    assert code == 2
    assert f"port {port} of container 129 is in use" in " ".join(err.split())


def test_what_needs_a_lab_says_how_to_get_one(tmp_path: Path, typed: Typed) -> None:
    code, out, err = typed("lab.status", "--folder", str(tmp_path / "none"), "--json")
    assert code == 6
    assert json.loads(out)["tries"] == ["invoke lab.up"]
    assert "Try:  invoke lab.up" in err
    assert typed("lab.down", "--folder", str(tmp_path / "none"))[0] == 0
