"""A practice ground of these tests' own, on which a promoted release serves before each of them."""

from collections.abc import Iterator

import pytest

from tests.e2e.survival.ground import Ground
from tests.lab.ground import Lab


@pytest.fixture(scope="session")
def practice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """The ground as it comes up: no container yet."""
    folder = tmp_path_factory.mktemp("survival")
    with Lab(folder / "lab") as lab:
        yield Ground(lab, folder / "person")


@pytest.fixture
def bare(practice: Ground) -> Iterator[Ground]:
    """The ground without a container."""
    practice.lab.reset()
    yield practice
    practice.clean_up()


@pytest.fixture
def ground(practice: Ground) -> Iterator[Ground]:
    """The ground with a host on which one promoted release serves, and nobody is at work."""
    if not (practice.seen().settled and practice.serves()):
        practice.lab.reset()
        practice.converge("15")
    yield practice
    practice.clean_up()
