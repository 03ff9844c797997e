"""The inventory's words for a container in Proxmox's: values for a config, merged over what somebody else set there."""

import re
from collections.abc import Mapping

from inventory.models import Container, Mount, Net
from roles.container import properties
from roles.container.facts import OWN_TAG

FEATURES = ("nesting", "keyctl", "fuse", "mknod")
"""The features that an inventory may name; others in a config are somebody else's and stay."""

_OUR_DEVICE = re.compile(r"/dev/nvidia(?:\d+|ctl|-uvm|-uvm-tools)")
_MARK_HOST = re.compile(r"^specrail host: (\S+)$", re.MULTILINE)
_MARK_TEMPLATE = re.compile(r"^specrail template: (\S+)$", re.MULTILINE)


def net0(net: Net, have: str | None) -> dict[str, str]:
    """The properties of net0. hwaddr, rate and whatever else stands there stay; tag, mtu, gateway only when named."""
    found = properties.parse(have or "")
    merged = {"name": "eth0", **found, "bridge": net.bridge, "ip": str(net.ip)}
    if net.ip == "dhcp":
        merged.pop("gw", None)
    _set(merged, "ip6", None if net.ip6 == "none" else str(net.ip6))
    if net.ip6 == "none":
        merged.pop("gw6", None)
    for key, value in (("gw", net.gateway), ("tag", net.tag), ("mtu", net.mtu)):
        if value is not None:
            merged[key] = str(value)
    _set(merged, "firewall", "1" if net.firewall else None)
    return merged


def same_net(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two net0 mean the same: PVE adds type=veth, writes booleans out and MAC addresses in capitals."""
    return _meaning(one) == _meaning(other)


def means(key: str, have: str | None, sent: str) -> bool:
    """Whether a config holds what was sent, after PVE has rewritten it (order, case, defaults, a MAC address added)."""
    if have is None:
        return False
    if key == "tags":
        return properties.tags(have) == properties.tags(sent)
    if key.startswith("net"):
        return _meaning(properties.parse(sent)).items() <= _meaning(properties.parse(have)).items()
    if key == "features":
        return switched_on(have) == switched_on(sent)
    return have == sent


def features(want: Container, have: str | None) -> dict[str, str]:
    """The properties of `features`."""
    others = {key: value for key, value in properties.parse(have or "").items() if key not in FEATURES}
    return others | dict.fromkeys(sorted(want.features), "1")


def switched_on(have: str | None) -> dict[str, str]:
    """The properties of `features` in a config, without those that say 0."""
    return {key: value for key, value in properties.parse(have or "").items() if value != "0"}


def tags(want: Container, have: str | None) -> frozenset[str]:
    """All tags: ours are added, nobody's are taken away."""
    return properties.tags(have or "") | {tag.lower() for tag in want.tags} | {OWN_TAG}


def devices(want: Container) -> dict[str, str]:
    """Path of each device -> its mode inside. Paths are the config's, /dev/nvidia0, wherever a machine shows them."""
    return {f"/dev/{name}": want.gpus.mode for name in want.gpus.devices}


def is_our_device(path: str) -> bool:
    """Whether a device is of the kind that the inventory's `gpus` speaks of (a /dev/net/tun is somebody else's)."""
    return _OUR_DEVICE.fullmatch(path) is not None


def mount(want: Mount, have: str | None) -> dict[str, str]:
    """The properties of an mp[n] for a folder of the node."""
    merged = {**properties.parse(have or "", "volume"), "volume": want.source, "mp": want.target}
    _set(merged, "ro", "1" if want.read_only else None)
    return merged


def description(name: str, want: Container) -> str:
    """What a container of ours says about itself; read back by `host_of` and `template_of`."""
    about = "Made by specrail, which keeps it as its inventory says."
    return f"{about}\n\nspecrail host: {name}\nspecrail template: {want.template}"


def host_of(config: Mapping[str, str]) -> str | None:
    """The inventory's name for the host, as it was when the container was created."""
    match = _MARK_HOST.search(config.get("description", ""))
    return match[1] if match else None


def for_host(name: str, text: str) -> str:
    """A description with another host's name in our mark; the rest of it is somebody's and stays."""
    return _MARK_HOST.sub(f"specrail host: {name}", text)


def template_of(config: Mapping[str, str]) -> str | None:
    """The template that the container was created from."""
    match = _MARK_TEMPLATE.search(config.get("description", ""))
    return match[1] if match else None


def _set(merged: dict[str, str], key: str, value: str | None) -> None:
    if value is None:
        merged.pop(key, None)
    else:
        merged[key] = value


def _meaning(net: Mapping[str, str]) -> dict[str, str]:
    meaning = {key: value for key, value in net.items() if key != "type"}
    for flag in ("firewall", "link_down"):
        if not properties.is_on(meaning.pop(flag, None)):
            continue
        meaning[flag] = "1"
    if "hwaddr" in meaning:
        meaning["hwaddr"] = meaning["hwaddr"].upper()
    return meaning
