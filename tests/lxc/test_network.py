"""A container whose network decides about its address, and one that does not run."""

from collections.abc import Iterator

import pytest

from tests.lxc.ground import LxcGround
from tests.unit.lab import clients

CTID = 130


@pytest.fixture
def dhcp(practice: LxcGround) -> Iterator[LxcGround]:
    """The ground with a container for ct130, whose address no inventory knows."""
    clients.create(practice.lab, CTID, tags="specrail", unprivileged=1)
    clients.start(practice.lab, CTID)
    yield practice
    practice.run("destroy", "--yes", "--host", "ct130")


def test_an_address_is_asked_for_and_a_stopped_container_is_called_that(dhcp: LxcGround) -> None:
    status = dhcp.run("status", "--host", "ct130")
    assert status.code == 1, status.all
    assert "invoke deploy --host ct130" in status.all
    dhcp.lab.stop(CTID)
    status = dhcp.run("status", "--host", "ct130")
    assert status.code == 6
    assert "ct130: container 130 is stopped Try: invoke deploy --host ct130 (starts it)" in status.all
