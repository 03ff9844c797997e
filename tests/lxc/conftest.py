"""One practice ground with real containers for all of these tests; skipped with the reason where there can be none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.ground import Lab
from tests.lab.ledger import LEDGER, pytest_terminal_summary
from tests.lab.lxc import needs
from tests.lxc.ground import LxcGround

__all__ = ["pytest_terminal_summary"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them are marked: the plain run leaves them out."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.lxc)


@pytest.fixture(scope="session")
def practice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LxcGround]:
    """The ground as it comes up: no container yet."""
    if lacks := needs.missing():
        pytest.skip("; ".join(lacks))
    folder = tmp_path_factory.mktemp("lxc")
    lab = Lab(folder / "lab", containers="lxc")
    with LEDGER.part("the practice ground, with the containers' file system where it had to be made"):
        lab.up(leashed=True)
    with lab:
        yield LxcGround(lab, folder)


@pytest.fixture
def ground(practice: LxcGround) -> Iterator[LxcGround]:
    """The ground with a host on which one promoted release serves, and nobody is at work."""
    there = "ct129" in practice.lab.status()["containers"]
    if not (there and practice.seen().settled and practice.serves()):
        with LEDGER.part("a deploy"):
            practice.converge("15")
    yield practice
    practice.clean_up()
