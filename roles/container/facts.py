"""What a node's API says about one container."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from inventory.errors import AlreadyExists, NotFound, PermissionDenied
from inventory.pve.api import Proxmox
from roles.container import properties

OWN_TAG = "specrail"
"""Marks the containers that are ours to change and to destroy."""

_NOT_CONFIG = frozenset({"digest", "lock", "lxc"})


@dataclass(frozen=True)
class ContainerFacts:
    """One reading.

    status:   "running" or "stopped"; None when the node has no such container
    config:   key -> value as text, as it is in force now
    pending:  key -> the value that the next start brings; None where it takes the key away
    raw:      lxc.* lines, in order
    digest:   of the config file; PVE compares it before it writes
    lock:     what a task holds the container for ("backup", "create" ...)
    creating: UPID of a create task that is still running
    owner:    whose the id is when the container is not here ("VM 129 (db) on pve2")
    """

    ctid: int
    status: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    pending: Mapping[str, str | None] = field(default_factory=dict)
    raw: tuple[tuple[str, str], ...] = ()
    digest: str | None = None
    lock: str | None = None
    creating: str | None = None
    owner: str | None = None

    @property
    def missing(self) -> bool:
        """Whether there is no such container on the node."""
        return self.status is None

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self.status == "running"

    @property
    def next_config(self) -> dict[str, str]:
        """The config as the next start finds it: what is wanted is compared with this."""
        changed = {key: value for key, value in self.pending.items() if value is not None}
        return {
            key: value for key, value in {**self.config, **changed}.items() if self.pending.get(key, "") is not None
        }

    @property
    def ours(self) -> bool:
        """Whether it carries our tag."""
        return OWN_TAG in properties.tags(self.config.get("tags", ""))


def read(pve: Proxmox, ctid: int) -> ContainerFacts:
    """Read a container of the node. Raises what Proxmox raises; a container that is not there is an answer."""
    try:
        return _read(pve, ctid)
    except PermissionDenied:
        return _read(pve, ctid)  # somebody's create may have ended between two questions, which gives us our rights


def _read(pve: Proxmox, ctid: int) -> ContainerFacts:
    base = f"/nodes/{pve.node}/lxc/{ctid}"
    try:
        config = pve.get_map(f"{base}/config", current=True)
        pending = pve.get_rows(f"{base}/pending")
        status = pve.get_map(f"{base}/status/current")
    except NotFound:
        if pve.node not in {row.get("node") for row in pve.get_rows("/nodes")}:
            raise  # it is the node that is not there
        return ContainerFacts(ctid, owner=_owner(pve, ctid))
    except PermissionDenied:
        # Rights that come with a pool do not reach an id that nobody has yet: the node refuses before it looks.
        # It looks the same while somebody creates it: the pool has it, and we our rights, when that has ended.
        if _owner(pve, ctid) is None:
            return ContainerFacts(ctid)
        if (creating := _creating(pve, ctid)) is None:
            raise
        return ContainerFacts(ctid, creating=creating)
    facts = parse(ctid, config, pending, status)
    return facts if facts.lock != "create" else parse(ctid, config, pending, status, creating=_creating(pve, ctid))


def parse(
    ctid: int,
    config: Mapping[str, JsonValue],
    pending: list[dict[str, JsonValue]],
    status: Mapping[str, JsonValue],
    creating: str | None = None,
) -> ContainerFacts:
    """Read the answers to GET config?current=1, pending and status/current."""
    raw = config.get("lxc")
    return ContainerFacts(
        ctid=ctid,
        status=str(status.get("status", "unknown")),
        config={key: str(value) for key, value in config.items() if key not in _NOT_CONFIG},
        pending=_waiting(pending),
        raw=tuple((str(row[0]), str(row[1])) for row in raw if isinstance(row, list)) if isinstance(raw, list) else (),
        digest=_text(config.get("digest")),
        lock=_text(config.get("lock") or status.get("lock")),
        creating=creating,
    )


def _waiting(rows: list[dict[str, JsonValue]]) -> dict[str, str | None]:
    waiting: dict[str, str | None] = {}
    for row in rows:
        key = str(row.get("key"))
        if row.get("delete"):
            waiting[key] = None
        elif "pending" in row:
            waiting[key] = str(row["pending"])
    return waiting


def _text(value: JsonValue) -> str | None:
    return None if value is None else str(value)


def _creating(pve: Proxmox, ctid: int) -> str | None:
    rows = pve.get_rows(f"/nodes/{pve.node}/tasks", vmid=ctid, source="active", typefilter="vzcreate")
    running = [str(row["upid"]) for row in rows if row.get("type") == "vzcreate" and not row.get("status")]
    return running[0] if running else None


def _owner(pve: Proxmox, ctid: int) -> str | None:
    """Who has the id in the whole cluster. nextid knows every guest, resources show only those that we may see."""
    try:
        pve.get("/cluster/nextid", vmid=ctid)
    except AlreadyExists:
        for row in pve.get_rows("/cluster/resources", type="vm"):
            if row.get("vmid") == ctid:
                kind = "CT" if row.get("type") == "lxc" else "VM"
                return f"{kind} {ctid} ({row.get('name', 'no name')}) on {row.get('node')}"
        return "a guest that this login may not see"
    return None
