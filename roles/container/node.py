"""What only the node's root shell can tell: its driver and devices, and the ssh host keys of a container."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inventory.models import Paths
from inventory.shell import command

_EXEC_TIMEOUT_S = 10  # pct exec hangs with a container that hangs
_VERSION = re.compile(r"\d{3,}\.\d+(?:\.\d+)?")
_HOST_KEY = re.compile(r"(?:ssh-|ecdsa-|sk-)\S+ [A-Za-z0-9+/]+=*")
_KINDS = frozenset({"device", "folder", "file", "missing"})


@dataclass(frozen=True)
class NodeFacts:
    """One reading.

    pve:       the node's version, (9, 0, 10); () when there is no pveversion
    driver:    version of the NVIDIA kernel module; None when it is not loaded
    devices:   name below /dev -> "device", "folder", "file" or "missing"
    host_keys: public ssh host keys of the container, best first, without comment; () when it does not run
    has_pct:   whether this is a Proxmox node at all
    unread:    lines that were not understood
    """

    pve: tuple[int, ...] = ()
    driver: str | None = None
    devices: Mapping[str, str] = field(default_factory=dict)
    host_keys: tuple[str, ...] = ()
    has_pct: bool = False
    unread: tuple[str, ...] = ()


def question(ctid: int, paths: Paths, devices: Sequence[str]) -> str:
    """What to ask, as POSIX sh, in one exec. A machine that shows its devices elsewhere may show files for them."""
    keys = [f"/etc/ssh/ssh_host_{kind}_key.pub" for kind in ("ed25519", "ecdsa", "rsa")]
    read_keys = command("pct", "exec", str(ctid), "--", "cat", *keys)
    return f"""dev={command(paths.dev)}
sed 's/^/module /' {command(f"{paths.procfs}/driver/nvidia/version")} 2>/dev/null
pveversion 2>/dev/null | sed 's/^/pve /'
command -v pct >/dev/null 2>&1 && echo pct
for name in {command(*devices)}; do
  node=$dev/$name
  kind=missing
  if [ -c "$node" ]; then kind=device
  elif [ -d "$node" ]; then kind=folder
  elif [ -e "$node" ]; then if [ "$dev" = /dev ]; then kind=file; else kind=device; fi
  fi
  echo "device $name $kind"
done
timeout {_EXEC_TIMEOUT_S} {read_keys} </dev/null 2>/dev/null | sed 's/^/key /'
true
"""


def parse(answer: str) -> NodeFacts:
    """Read the answer to `question`. Any text is read; what is not understood is in `unread`."""
    pve: tuple[int, ...] = ()
    driver: str | None = None
    devices: dict[str, str] = {}
    host_keys: list[str] = []
    has_pct = False
    unread: list[str] = []
    for line in answer.splitlines():
        topic, _, rest = line.partition(" ")
        name, _, kind = rest.partition(" ")
        key = _HOST_KEY.match(rest)
        if topic == "module":
            if match := _VERSION.search(rest):  # gcc's version, in the second line, has no part of three digits
                driver = match[0]
        elif topic == "pve" and (version := re.search(r"pve-manager/(\d+(?:\.\d+)*)", rest)):
            pve = tuple(int(part) for part in version[1].split("."))
        elif line == "pct":
            has_pct = True
        elif topic == "device" and kind in _KINDS:
            devices[name] = kind
        elif topic == "key" and key:
            host_keys.append(key[0])
        elif line.strip():
            unread.append(line)
    return NodeFacts(pve, driver, devices, tuple(host_keys), has_pct, tuple(unread))
