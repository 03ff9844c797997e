"""Which hosts a command is for."""

import pytest

from inventory.errors import UsageError
from inventory.load import Inventory, load
from tests.unit.inventory.conftest import SMALL


def names(inventory: Inventory, *wanted: str) -> list[str]:
    return [resolved.name for resolved in inventory.select(wanted)]


def test_hosts_and_groups_keep_their_order_and_come_once(small: Inventory) -> None:
    assert names(small, "ct130", "ct129") == ["ct130", "ct129"]
    assert names(small, "both") == ["ct130", "ct129"]
    assert names(small, "ct129", "both", "ct129") == ["ct129", "ct130"]
    assert names(small, "none") == []


def test_an_unknown_name_gets_the_nearest_and_the_list(small: Inventory) -> None:
    with pytest.raises(UsageError) as caught:
        small.select(["ct129", "bothh"])
    assert caught.value.what == f"no host or group is called 'bothh' in {small.path}"
    assert caught.value.why == ("did you mean 'both'?", "hosts: ct129, ct130; groups: both, none")


def test_no_name_is_the_only_host_there_is(small: Inventory) -> None:
    small.path.write_text(SMALL[: SMALL.index("  ct130:")].replace("ct130, ", ""))
    assert names(load(small.path)) == ["ct129"]


def test_no_name_and_several_hosts_is_a_question(small: Inventory) -> None:
    with pytest.raises(UsageError, match="which host") as caught:
        small.select([])
    assert caught.value.why == ("hosts: ct129, ct130; groups: both, none",)


def test_no_name_and_no_hosts_says_so(small: Inventory) -> None:
    small.path.write_text("hosts: {}\n")
    with pytest.raises(UsageError, match="has no hosts"):
        load(small.path).select([])
