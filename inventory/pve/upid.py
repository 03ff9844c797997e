"""Proxmox's names for tasks: UPID:node:pid:pstart:starttime:type:id:user:"""

import re
from dataclasses import dataclass

# pve-common's own pattern: pstart has nine digits after 497 days of uptime, the user may be a token (root@pam!deploy).
_UPID = re.compile(
    r"UPID:(?P<node>[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?):(?P<pid>[0-9A-Fa-f]{8}):(?P<pstart>[0-9A-Fa-f]{8,9})"
    r":(?P<starttime>[0-9A-Fa-f]{8}):(?P<type>[^:\s/]+):(?P<id>[^:\s/]*):(?P<user>[^:\s/]+):"
)


@dataclass(frozen=True)
class Upid:
    """One task. starttime is in seconds since 1970; id is empty for tasks that concern no guest."""

    text: str
    node: str
    pid: int
    pstart: int
    starttime: int
    type: str
    id: str
    user: str

    def __str__(self) -> str:
        return self.text


def parse(text: str) -> Upid:
    """Read a UPID. ValueError for anything else: an answer that should have been a UPID is a fault worth seeing."""
    match = _UPID.fullmatch(text)
    if match is None:
        raise ValueError(f"not a UPID: {text!r}")
    return Upid(
        text=text,
        node=match["node"],
        pid=int(match["pid"], 16),
        pstart=int(match["pstart"], 16),
        starttime=int(match["starttime"], 16),
        type=match["type"],
        id=match["id"],
        user=match["user"],
    )
