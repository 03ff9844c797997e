"""Flags laid upon a host that was read."""

from collections.abc import Mapping

import pytest
from pydantic import JsonValue

from inventory.errors import UsageError
from inventory.load import Inventory, with_changes


def test_a_change_is_seen_with_its_origin_and_the_rest_stays(small: Inventory) -> None:
    before = small.hosts["ct129"]
    after = with_changes(before, {"drafter.tokens": 5, "server.env.A": "b"})
    assert after.host.drafter
    assert (after.host.drafter.tokens, after.host.server.env) == (5, {"A": "b"})
    assert str(after.origins["drafter.tokens"]) == "flag"
    assert after.origins["container.ctid"] == before.origins["container.ctid"]
    assert with_changes(after, {"drafter.tokens": 3, "server.env.A": None}).host == before.host
    assert before.host.drafter
    assert before.host.drafter.tokens == 3


def test_no_change_is_the_same_host(small: Inventory) -> None:
    for host in small.hosts.values():
        assert with_changes(host, {}).host == host.host
        assert set(with_changes(host, {}).origins) == set(host.origins)


def test_what_follows_from_a_changed_value_follows_again(small: Inventory) -> None:
    after = with_changes(small.hosts["ct129"], {"container.net.ip": "10.0.0.7/24"})
    assert (after.host.ssh.host, after.origins["ssh.host"].layer) == ("10.0.0.7", "derived")
    assert with_changes(after, {"container.net.ip": "dhcp"}).host.ssh.host is None
    written = with_changes(after, {"ssh.host": "ct129.example.net", "container.hostname": "other"})
    assert with_changes(written, {"container.net.ip": "10.0.0.8/24"}).host.ssh.host == "ct129.example.net"
    assert with_changes(written, {"drafter": None}).host.container.hostname == "other"


def test_null_brings_the_built_in_default_back(small: Inventory) -> None:
    changed = with_changes(small.hosts["ct129"], {"server.port": 9000})
    after = with_changes(changed, {"server.port": None, "drafter": None})
    assert (after.host.server.port, after.host.drafter) == (8000, None)
    assert "server.port" not in after.origins


@pytest.mark.parametrize(
    ("changes", "what", "more"),
    [
        ({"drafter.tokns": 5}, "drafter.tokns: is not a key here (did you mean 'tokens'?)", ()),
        ({"drafter.tokens": "5"}, "drafter.tokens: a whole number is wanted, '5' was met (remove the quotes)", ()),
        ({"drafter.tokens": 0, "server.port": 0}, "drafter.tokens: at least 1 is wanted, 0 was met",
         ("server.port: at least 1 is wanted, 0 was met",)),
        ({"engine": None}, "engine: is missing (with source)", ()),
        ({"drafter.method": "eagle3"}, "drafter: method eagle3 needs path: the folder with the drafter's weights", ()),
    ],
)  # fmt: skip
def test_a_wrong_change_is_a_usage_error(
    small: Inventory, changes: Mapping[str, JsonValue], what: str, more: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as caught:
        with_changes(small.hosts["ct129"], changes)
    assert (caught.value.what, caught.value.why, caught.value.where) == (what, more, ("ct129",))


def test_a_secret_in_a_change_is_refused_and_not_repeated(small: Inventory) -> None:
    with pytest.raises(UsageError, match="looks like a secret") as caught:
        with_changes(small.hosts["ct129"], {"server.env.X": "hf_aBcDeFgH123456"})
    assert "hf_aBc" not in str(caught.value)
