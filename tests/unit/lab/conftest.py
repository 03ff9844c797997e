"""What the tests of the lab ask for: one lab as new, with a running container, and lines into both machines."""

from collections.abc import Iterator

import paramiko
import pytest

from tests.lab.ground import Lab
from tests.unit.lab import clients


@pytest.fixture
def fresh(lab: Lab) -> Lab:
    """The lab as new: no container, no fault."""
    lab.reset()
    return lab


@pytest.fixture
def running(fresh: Lab) -> Lab:
    """The lab with container 129 running."""
    clients.create(fresh)
    clients.start(fresh)
    return fresh


@pytest.fixture
def node(fresh: Lab) -> Iterator[paramiko.SSHClient]:
    """The node's root shell."""
    with clients.node(fresh) as client:
        yield client


@pytest.fixture
def inside(running: Lab) -> Iterator[paramiko.SSHClient]:
    """The shell of container 129."""
    with clients.inside(running) as client:
        yield client
