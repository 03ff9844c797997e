"""The address of a running container: the inventory's, or the one that DHCP gave it."""

from ipaddress import ip_address

from pydantic import JsonValue

from inventory.errors import DeadlineExceeded
from inventory.models import Container
from inventory.pve.api import Proxmox

_POLL_S = 1.0


def wait_for_address(pve: Proxmox, want: Container, *, timeout_s: float = 90) -> str:
    """The container's IPv4 address. A static one is known; for DHCP its interfaces are asked until they have one.

    Raises DeadlineExceeded after timeout_s. Whether sshd answers there is another question.
    """
    if want.net.ip != "dhcp":
        return str(want.net.ip.ip)
    began = pve.clock()
    while True:
        rows = pve.get_rows(f"/nodes/{pve.node}/lxc/{want.ctid}/interfaces")
        if (address := address_in(rows)) is not None:
            return address
        if pve.clock() - began > timeout_s:
            raise DeadlineExceeded(
                f"container {want.ctid} has no address after {timeout_s:g} s",
                where=(pve.node, "container"),
                why=[
                    f"It asks for one by DHCP on {want.net.bridge}"
                    + (f", VLAN {want.net.tag}." if want.net.tag else "."),
                    f"Its interfaces: {', '.join(str(row.get('name')) for row in rows) or 'none'}.",
                ],
                tries=[
                    f"pct exec {want.ctid} -- ip -br addr  # as root on {pve.node}",
                    "container.net.ip: ADDRESS/PREFIX  # a static address needs no DHCP server",
                ],
            )
        pve.sleep(_POLL_S)


def address_in(rows: list[dict[str, JsonValue]]) -> str | None:
    """The first IPv4 address that others can reach, eth0's before the rest (docker0 ...).

    PVE 8: "inet": "10.1.2.3/24"; PVE 9 also "ip-addresses": [{"ip-address-type": "inet", "ip-address": ...}].
    """
    for row in sorted(rows, key=lambda row: row.get("name") != "eth0"):
        listed = row.get("ip-addresses")
        entries = (
            [entry.get("ip-address") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        )
        for text in (row.get("inet"), *entries):
            try:
                address = ip_address(str(text).partition("/")[0])
            except ValueError:
                continue
            if address.version == 4 and not (address.is_loopback or address.is_link_local):
                return str(address)
    return None
