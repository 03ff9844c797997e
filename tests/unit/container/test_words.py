"""What was sent is recognised after Proxmox has rewritten it."""

import pytest

from roles.container import words

MAC = "hwaddr=BC:24:11:00:00:01"


@pytest.mark.parametrize(
    ("key", "have", "sent"),
    [
        ("cores", "8", "8"),
        ("tags", "gpu;specrail", "Specrail;gpu"),
        ("features", "keyctl=1,nesting=1", "nesting=1,keyctl=1"),
        ("features", "nesting=1", "nesting=1,fuse=0"),
        ("net0", f"name=eth0,bridge=vmbr0,{MAC},ip=dhcp,type=veth", "name=eth0,bridge=vmbr0,ip=dhcp"),
        ("net0", f"name=eth0,bridge=vmbr0,{MAC},type=veth", f"name=eth0,{MAC.lower()},bridge=vmbr0"),
        ("net0", f"name=eth0,bridge=vmbr0,firewall=1,{MAC}", "name=eth0,bridge=vmbr0,firewall=yes"),
    ],
)
def test_the_same(key: str, have: str, sent: str) -> None:
    assert words.means(key, have, sent)


@pytest.mark.parametrize(
    ("key", "have", "sent"),
    [
        ("cores", None, "8"),
        ("cores", "8", "16"),
        ("tags", "specrail", "gpu;specrail"),
        ("features", "nesting=1", "nesting=1,keyctl=1"),
        ("net0", f"name=eth0,bridge=vmbr0,{MAC},ip=dhcp", "name=eth0,bridge=vmbr1,ip=dhcp"),
        ("net0", f"name=eth0,bridge=vmbr0,{MAC}", "name=eth0,bridge=vmbr0,firewall=1"),
    ],
)
def test_not_the_same(key: str, have: str | None, sent: str) -> None:
    assert not words.means(key, have, sent)


def test_a_name_in_our_mark_is_read_and_replaced() -> None:
    text = "mine\n\nspecrail host: llama\nspecrail template: local:vztmpl/a.tar.zst\nkeep"
    assert words.host_of({"description": text}) == "llama"
    assert words.template_of({"description": text}) == "local:vztmpl/a.tar.zst"
    assert words.for_host("ct129", text) == text.replace("llama", "ct129")


def test_a_description_without_our_mark_says_nothing() -> None:
    assert words.host_of({"description": "not a specrail host: llama"}) is None
    assert words.host_of({}) is None
