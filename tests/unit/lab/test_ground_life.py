"""A lab comes up, goes down and is recovered, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import UnreachableError, UsageError
from inventory.load import load
from tests.lab import processes
from tests.lab.ground import CHECKOUT, Lab
from tests.unit.lab import clients
from tests.unit.lab.clients import eventually, run


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where a lab may be; whatever a test leaves there is ended."""
    yield tmp_path / "lab"
    Lab(tmp_path / "lab").down()


def _ports(status: dict[str, Any]) -> list[int]:
    containers = status["containers"].values()
    return [
        int(status["api"]["url"].rpartition(":")[2]),
        status["node"]["ssh_port"],
        *(container[key] for container in containers for key in ("ssh_port", "server_port")),
    ]


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_its_inventory_is_one_that_specrail_reads(lab: Lab) -> None:
    inventory = load(lab.inventory)
    assert list(inventory.hosts) == ["ct129", "ct130"]
    assert inventory.groups == {"lab": ("ct129", "ct130")}
    assert inventory.nodes["pve1"].api.port == int(lab.status()["api"]["url"].rpartition(":")[2])


def test_nothing_is_left_after_down_but_logs(folder: Path) -> None:
    lab = Lab(folder)
    lab.up(leashed=True)
    clients.create(lab)
    clients.start(lab)
    lab.fault("port-taken")
    with clients.inside(lab) as client:
        run(client, "setsid sleep 300 </dev/null >/dev/null 2>&1 &")
    ports = _ports(lab.status())
    assert all(map(_listening, ports))
    lab.down()
    assert not any(map(_listening, ports))
    assert processes.of_lab(folder) == []
    assert {path.name for path in folder.iterdir()} == {"daemon.lock", "lab.json", "log"}
    with pytest.raises(UnreachableError, match="the lab is not up"):
        lab.status()


def test_up_recovers_from_a_daemon_that_was_killed_and_keeps_its_ports(folder: Path) -> None:
    lab = Lab(folder)
    lab.up(leashed=True)
    clients.create(lab)
    clients.start(lab)
    with clients.inside(lab) as client:
        run(client, "setsid sleep 300 </dev/null >/dev/null 2>&1 &")
    before = lab.status()
    os.kill(before["pid"], signal.SIGKILL)
    eventually(lambda: not lab.running())
    again = Lab(folder)
    again.up(leashed=True)
    after = again.status()
    assert after["api"] == before["api"]
    assert after["containers"] == {}
    assert processes.of_lab(folder) == []
    again.up()  # it runs: nothing to do
    assert again.status()["pid"] == after["pid"]
    again.down()
    lab.down()


def test_two_ups_at_once_make_one_lab(folder: Path) -> None:
    labs = [Lab(folder), Lab(folder)]
    with ThreadPoolExecutor() as pool:
        list(pool.map(Lab.up, labs))
    assert labs[0].status()["pid"] == labs[1].status()["pid"]
    for lab in labs:
        lab.down()


def test_an_interrupted_up_leaves_nothing(folder: Path) -> None:
    script = f"from pathlib import Path; from tests.lab.ground import Lab; Lab(Path({str(folder)!r})).up()"
    starting = subprocess.Popen([sys.executable, "-c", script], cwd=CHECKOUT, stderr=subprocess.PIPE)
    daemon = folder / "daemon.lock"
    eventually(lambda: daemon.exists() and daemon.read_text())
    starting.send_signal(signal.SIGINT)
    _, said = starting.communicate(timeout=30)
    assert b"KeyboardInterrupt" in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(daemon.read_text()), 0)
    assert not Lab(folder).running()


def test_a_leashed_lab_ends_with_its_owner(folder: Path) -> None:
    script = (
        "import os; from pathlib import Path; from tests.lab.ground import Lab; "
        f"Lab(Path({str(folder)!r})).up(leashed=True); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script], cwd=CHECKOUT, check=False, timeout=30)
    eventually(lambda: not (folder / "hosts.yml").exists())
    assert not Lab(folder).running()


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="is no lab's folder"):
        Lab(tmp_path).up()
    Lab(tmp_path).down()
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_path_that_an_inventory_cannot_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be a lab's folder"):
        Lab(tmp_path / "my lab").up()
