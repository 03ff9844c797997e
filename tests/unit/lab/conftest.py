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
def shared(lab: Lab) -> Lab:
    """The lab with container 129 running, as others have left it; for tests that leave it running and unbroken."""
    status = lab.status()
    if status["faults"] or status["containers"].get("ct129", {}).get("ssh") != "open":
        lab.reset()
        clients.create(lab)
        clients.start(lab)
    return lab


@pytest.fixture
def node(lab: Lab) -> Iterator[paramiko.SSHClient]:
    """The node's root shell."""
    with clients.node(lab) as client:
        yield client


@pytest.fixture
def inside(shared: Lab) -> Iterator[paramiko.SSHClient]:
    """The shell of container 129; ask for `running` before it to have a new container."""
    with clients.inside(shared) as client:
        yield client
