"""What a cluster's API says about the ground that a container is to stand on: node, storages, bridge, privileges."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pydantic import JsonValue

from inventory.errors import PermissionDenied
from inventory.models import Container
from inventory.pve.api import Proxmox

T = TypeVar("T")


@dataclass(frozen=True)
class Storage:
    """A storage of the node. content is what it may hold ("rootdir", "vztmpl" ...)."""

    content: frozenset[str]
    active: bool
    free_bytes: int


@dataclass(frozen=True)
class ClusterFacts:
    """One reading. None where this login may not ask; empty what was not asked.

    node, who:  whose API it is and as whom it was asked
    version:    (9, 0, 10)
    nodes:      name -> "online", "offline" or "unknown"
    quorate:    whether the cluster may write
    storages:   those that this login may see
    templates:  volume ids on the storage of the wanted template
    bridges:    those that this login may see or use
    privileges: ACL path -> what this login may do there
    bridge_path: the ACL path of the wanted bridge (a vnet of an SDN zone has another than a bridge of the node)
    """

    node: str
    who: str
    version: tuple[int, ...]
    nodes: Mapping[str, str]
    quorate: bool | None = None
    storages: Mapping[str, Storage] = field(default_factory=dict)
    templates: frozenset[str] | None = None
    bridges: frozenset[str] | None = None
    privileges: Mapping[str, frozenset[str]] = field(default_factory=dict)
    bridge_path: str = ""

    @property
    def here(self) -> bool:
        """Whether the node is a member that is online."""
        return self.nodes.get(self.node) == "online"


def acl_paths(want: Container) -> dict[str, str]:
    """What the container touches -> its ACL path."""
    paths = {
        "container": f"/vms/{want.ctid}",
        "storage": f"/storage/{want.storage}",
        "template": f"/storage/{want.template.partition(':')[0]}",
    }
    if want.pool is not None:
        paths["pool"] = f"/pool/{want.pool}"
    if not want.unprivileged:
        paths["cluster"] = "/"
    return paths


def read(pve: Proxmox, want: Container, *, new: bool) -> ClusterFacts:
    """Ask, reading only. What only a new container needs (storages, template, bridge) is asked only if it is `new`.

    Raises UnreachableError and AuthenticationFailed; what is not allowed is None.
    """
    version = tuple(int(part) for part in str(pve.get_map("/version").get("version", "")).split(".") if part.isdigit())
    nodes = {str(row.get("node")): str(row.get("status", "unknown")) for row in pve.get_rows("/nodes")}
    facts = ClusterFacts(pve.node, pve.who, version, nodes)
    if not facts.here:
        return facts
    paths = acl_paths(want)
    asked = paths.values() if new else [paths[key] for key in ("container", "pool") if key in paths]
    facts = replace(
        facts,
        quorate=_quorate(_allowed(lambda: pve.get_rows("/cluster/status"))),
        privileges={path: pve.permissions(path) for path in asked},
    )
    return _ground(pve, want, facts) if new else facts


def _ground(pve: Proxmox, want: Container, facts: ClusterFacts) -> ClusterFacts:
    """The same facts with what a new container stands on."""
    base = f"/nodes/{pve.node}"
    template_storage = want.template.partition(":")[0]
    storages = {str(row.get("storage")): _storage(row) for row in pve.get_rows(f"{base}/storage")}
    content = f"{base}/storage/{template_storage}/content"
    volumes = (
        _allowed(lambda: pve.get_rows(content, content="vztmpl"))
        if _holds_templates(storages.get(template_storage))
        else None
    )
    bridge_path = _bridge_path(pve, want)
    bridges = _allowed(lambda: pve.get_rows(f"{base}/network", type="any_bridge"))
    return replace(
        facts,
        storages=storages,
        templates=None if volumes is None else frozenset(str(row.get("volid")) for row in volumes),
        bridges=None if bridges is None else frozenset(str(row.get("iface")) for row in bridges),
        privileges={**facts.privileges, bridge_path: pve.permissions(bridge_path)},
        bridge_path=bridge_path,
    )


def _bridge_path(pve: Proxmox, want: Container) -> str:
    vlan = f"/{want.net.tag}" if want.net.tag else ""
    for row in _allowed(lambda: pve.get_rows("/cluster/sdn/vnets")) or []:
        if row.get("vnet") == want.net.bridge:
            return f"/sdn/zones/{row.get('zone')}/{want.net.bridge}{vlan}"
    return f"/sdn/zones/localnetwork/{want.net.bridge}{vlan}"


def _allowed(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except PermissionDenied:
        return None


def _holds_templates(storage: Storage | None) -> bool:
    return storage is not None and storage.active and "vztmpl" in storage.content


def _quorate(rows: list[dict[str, JsonValue]] | None) -> bool | None:
    """A node that is in no cluster has no row of type cluster, and needs nobody's vote."""
    if rows is None:
        return None
    return all(bool(row.get("quorate")) for row in rows if row.get("type") == "cluster")


def _storage(row: Mapping[str, JsonValue]) -> Storage:
    free = row.get("avail")
    return Storage(
        content=frozenset(str(row.get("content", "")).split(",")),
        active=bool(row.get("active")) and bool(row.get("enabled", 1)),
        free_bytes=int(free) if isinstance(free, int | float) else 0,
    )
