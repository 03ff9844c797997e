"""UPIDs as PVE writes them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.pve.upid import parse


def test_reads_a_real_one() -> None:
    task = parse("UPID:pve0:0009E9B0:103F1191:660069E7:vzcreate:101:root@pam:")
    assert (task.node, task.type, task.id, task.user) == ("pve0", "vzcreate", "101", "root@pam")
    assert (task.pid, task.starttime) == (0x9E9B0, 0x660069E7)


def test_reads_a_token_and_nine_digits_of_uptime() -> None:
    task = parse("UPID:proxmox2:000D7AA2:108D5A17C:63DF62A5:vzclone:200:root@pam!api_token:")
    assert (task.pstart, task.user) == (0x108D5A17C, "root@pam!api_token")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "None",
        "UPID:pve0:0009E9B0:103F1191:660069E7:vzcreate:101:root@pam",
        "UPID:pve0:0009E9B:103F1191:660069E7:vzcreate:101:root@pam:",
        "UPID:-pve:0009E9B0:103F1191:660069E7:vzcreate:101:root@pam:",
        "UPID:pve0:0009E9B0:103F1191:660069E7:vzcreate:101:root@pam:\n",
    ],
)
def test_refuses_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        parse(text)


@given(
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, 0xFFFFFFFFF),
    st.from_regex(r"[a-z]+(?:-[a-z0-9]+)?", fullmatch=True),
    st.from_regex(r"[a-z]+@pam(?:![a-z]+)?", fullmatch=True),
)
def test_what_pve_encodes_is_read_back(pid: int, pstart: int, node: str, user: str) -> None:
    """PVE::Tools::upid_encode: %08X each, so pstart may be longer."""
    task = parse(f"UPID:{node}:{pid:08X}:{pstart:08X}:{pid:08X}:vzstart:129:{user}:")
    assert (task.node, task.pid, task.pstart, task.user) == (node, pid, pstart, user)
