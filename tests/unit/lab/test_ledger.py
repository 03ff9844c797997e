"""What a tier's end says of its cost."""

import pytest

from tests.lab.ledger import Ledger, lines, received_bytes

NET = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 7777777       1    0    0    0     0          0         0  7777777       1    0    0    0     0       0          0
  eth0: 5000000    3000    0    0    0     0          0         0   400000    2000    0    0    0     0       0          0
lxcbr0: 5000000    3000    0    0    0     0          0         0   400000    2000    0    0    0     0       0          0
wlan0:1500000 3 0 0 0 0 0 0 4 2 0 0 0 0 0 0
"""


def test_what_came_over_the_loopback_or_a_bridge_is_not_counted_twice() -> None:
    assert received_bytes(NET) == 6_500_000


def test_installs_before_the_first_test_count() -> None:
    ledger = Ledger()
    ledger.parts.append(("the engine was built", 31.04))
    said = lines("engine 1000", NET, 1101.6, NET.replace("1500000", "344400000"), ledger)
    assert said == [
        "engine tier: 102 s; this machine received 343 MB meanwhile",
        "   31.0 s  the engine was built",
    ]


def test_only_what_came_to_its_end_is_noted() -> None:
    ledger = Ledger()
    with pytest.raises(ValueError, match="half"), ledger.part("half"):
        int("half")
    with ledger.part("whole"):
        pass
    assert [name for name, _ in ledger.parts] == ["whole"]
