"""How Proxmox writes values in a container's config: property strings, sizes and tags, read and written back."""

import re
from collections.abc import Mapping

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
GIB = 1024**3


def parse(text: str, default: str = "") -> dict[str, str]:
    """Read "first,key=value,...". `default` names the first value where PVE leaves its name out ("volume", "path").

    The order is PVE's business: it sorts as it likes, so values are compared as dicts.
    """
    found: dict[str, str] = {}
    for number, part in enumerate(text.split(",")):
        key, equals, value = part.partition("=")
        if equals:
            found[key.strip()] = value
        elif number == 0 and default and part:
            found[default] = part
    return found


def dump(properties: Mapping[str, str], default: str = "") -> str:
    """Write a property string; the value named `default` comes first and without its name."""
    first = [properties[default]] if default in properties else []
    return ",".join([*first, *(f"{key}={value}" for key, value in properties.items() if key != default)])


def numbered(config: Mapping[str, str], prefix: str) -> dict[int, str]:
    """The values of dev0, dev1 ... or mp0, mp1 ... by their number."""
    found = {}
    for key, value in config.items():
        if match := re.fullmatch(rf"{prefix}(\d+)", key):
            found[int(match[1])] = value
    return dict(sorted(found.items()))


def size_bytes(text: str) -> int | None:
    """Bytes of a size as PVE writes it ("8G", "512M", "1.5T", plain bytes); None for what is no size."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)", text.strip())
    return int(float(match[1]) * _UNITS[match[2]]) if match else None


def tags(text: str) -> frozenset[str]:
    """The tags of a config. PVE writes them with ";" and, unless the cluster is case-sensitive, in lower case."""
    return frozenset(tag.lower() for tag in re.split(r"[;,\s]+", text) if tag)


def is_on(text: str | None) -> bool:
    """PVE's booleans; what is absent is off."""
    return (text or "0").lower() in {"1", "on", "yes", "true"}
