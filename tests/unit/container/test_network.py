"""The address of a container is known, or waited for."""

from typing import Any

import pytest

from inventory.errors import DeadlineExceeded
from roles.container.network import address_in, wait_for_address
from tests.unit.container.ground import want
from tests.unit.fake_node import Connect, FakeNode

DHCP = {"net0": "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,ip=dhcp,type=veth"}


def test_a_static_address_is_not_asked_for(fake: FakeNode, connect: Connect) -> None:
    assert wait_for_address(connect(), want(net={"ip": "10.1.230.172/24"})) == "10.1.230.172"
    assert fake.requests == []


def test_a_lease_is_waited_for(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129, status="running", config=DHCP)
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            fake.leases[129] = "192.0.2.77/24"

    assert wait_for_address(connect(sleep=sleep), want()) == "192.0.2.77"
    assert pauses == [1.0, 1.0, 1.0]


def test_a_container_that_boots_has_no_interfaces_yet(fake: FakeNode, connect: Connect) -> None:
    ct = fake.add_ct(129, status="stopped", config=DHCP)
    fake.leases[129] = "192.0.2.77/24"

    def sleep(_: float) -> None:
        ct.status = "running"

    assert wait_for_address(connect(sleep=sleep), want()) == "192.0.2.77"


def test_a_lease_that_never_comes_is_explained(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129, status="running", config=DHCP)
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    pve = connect(sleep=sleep, clock=lambda: now[0])
    with pytest.raises(DeadlineExceeded) as late:
        wait_for_address(pve, want(net={"tag": 20}), timeout_s=10)
    assert late.value.what == "container 129 has no address after 10 s"
    assert late.value.why == ("It asks for one by DHCP on vmbr0, VLAN 20.", "Its interfaces: lo, eth0.")
    assert late.value.tries[0] == "pct exec 129 -- ip -br addr  # as root on pve1"


@pytest.mark.parametrize(
    ("rows", "address"),
    [
        ([], None),
        ([{"name": "lo", "inet": "127.0.0.1/8"}], None),
        ([{"name": "eth0", "inet": "169.254.3.4/16"}], None),
        ([{"name": "eth0", "inet6": "2001:db8::3/64"}], None),
        ([{"name": "eth0"}], None),
        ([{"name": "eth0", "inet": None, "ip-addresses": None}], None),
        ([{"name": "docker0", "inet": "172.17.0.1/16"}, {"name": "eth0", "inet": "10.1.2.3/24"}], "10.1.2.3"),
        ([{"name": "ens18", "inet": "10.1.2.3/24"}], "10.1.2.3"),
        (
            [
                {
                    "name": "eth0",
                    "ip-addresses": [
                        {"ip-address-type": "inet6", "ip-address": "fe80::1", "prefix": "64"},
                        {"ip-address-type": "inet", "ip-address": "10.1.2.3", "prefix": "24"},
                    ],
                }
            ],
            "10.1.2.3",
        ),
    ],
)
def test_the_first_address_that_others_can_reach(rows: list[dict[str, Any]], address: str | None) -> None:
    assert address_in(rows) == address
