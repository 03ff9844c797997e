"""Whether a container can be made as it is wanted: everything that is missing at once, before anything is changed."""

from collections.abc import Iterator

from inventory.errors import PermissionDenied, PreflightError
from inventory.models import Container
from inventory.pve import rights
from inventory.pve.api import Proxmox
from inventory.shell import command
from roles.container import cluster, properties
from roles.container.cluster import ClusterFacts
from roles.container.facts import ContainerFacts
from roles.container.refusals import Finding

_OLDEST = (8, 1)
"""The first PVE with dev[n]."""

_ON_GUEST = tuple(name for name in rights.PRIVILEGES if name.startswith("VM."))


def preflight(pve: Proxmox, want: Container, have: ContainerFacts) -> ClusterFacts:
    """Read the cluster and raise for everything that is missing: PermissionDenied if it is privileges alone, else
    PreflightError. Both carry the `pveum` lines.
    """
    facts = cluster.read(pve, want, new=have.missing)
    ground, privileges = list(missing(want, have, facts)), list(missing_privileges(want, have, facts))
    if not ground and not privileges:
        return facts
    findings = [*ground, *privileges]
    what = findings[0].what if len(findings) == 1 else f"{len(findings)} things are missing on {pve.node}"
    why = [finding.what for finding in findings] if len(findings) > 1 else []
    tries = list(dict.fromkeys(line for finding in findings for line in finding.tries))
    if privileges:
        why.append(f"The role, once per cluster: {rights.role_line()}")
    why.append("Nothing was changed.")
    if ground:
        raise PreflightError(what, where=("container",), why=why, tries=tries)
    raise PermissionDenied(what, where=("container",), why=why, tries=tries)


def missing(want: Container, have: ContainerFacts, facts: ClusterFacts) -> Iterator[Finding]:
    """What the cluster lacks. Of a container that exists already, template, storage and bridge are not asked again."""
    if facts.version < _OLDEST:
        yield Finding(
            f"PVE {'.'.join(map(str, facts.version))} is too old: devices for containers came with 8.1",
            ("pveversion  # as root on the node",),
        )
    if not facts.here:
        state = facts.nodes.get(facts.node)
        known = f"{facts.node} is {state}" if state else f"the cluster has no node {facts.node}"
        yield Finding(
            f"{known} (it has {', '.join(sorted(facts.nodes))})",
            ("pvecm status  # as root on any node", "nodes.NAME.name  # in the inventory: the node's own name"),
        )
        return
    if facts.quorate is False:
        yield Finding(
            "the cluster has no quorum: guests run on, nothing can be changed",
            (f"pvecm status  # as root on {facts.node}",),
        )
    if have.missing:
        yield from _storage(want, facts)
        yield from _template(want, facts)
        yield from _bridge(want, facts)


def missing_privileges(want: Container, have: ContainerFacts, facts: ClusterFacts) -> Iterator[Finding]:
    """What this login may not do, one finding an ACL path, with the line that grants it."""
    if not facts.here:
        return
    paths = cluster.acl_paths(want)
    guest = facts.privileges[paths["container"]] | facts.privileges.get(paths.get("pool", ""), frozenset())
    needed = _ON_GUEST if have.missing else tuple(name for name in _ON_GUEST if name != "VM.Allocate")
    yield from _lacking(facts, paths.get("pool", paths["container"]), [name for name in needed if name not in guest])
    if not have.missing:
        return
    if "Datastore.AllocateSpace" not in facts.privileges[paths["storage"]]:
        yield from _lacking(facts, paths["storage"], ["Datastore.AllocateSpace"])
    if not facts.privileges[paths["template"]] & {"Datastore.Audit", "Datastore.AllocateSpace"}:
        yield from _lacking(facts, paths["template"], ["Datastore.Audit"])
    if "SDN.Use" not in facts.privileges[facts.bridge_path]:
        yield from _lacking(facts, facts.bridge_path, ["SDN.Use"])
    if "cluster" in paths and "Sys.Modify" not in facts.privileges["/"]:
        yield Finding(
            f"{facts.who} lacks Sys.Modify on /, which only a privileged container needs",
            (
                "container.unprivileged: true",
                f"{rights.extend_line('Sys.Modify')} && {rights.grant_line('/', facts.who)}",
            ),
        )


def _lacking(facts: ClusterFacts, path: str, names: list[str]) -> Iterator[Finding]:
    if names:
        yield Finding(f"{facts.who} lacks {', '.join(names)} on {path}", (rights.grant_line(path, facts.who),))


def _storage(want: Container, facts: ClusterFacts) -> Iterator[Finding]:
    storage = facts.storages.get(want.storage)
    status = f"pvesm status --content rootdir  # as root on {facts.node}"
    if storage is None:
        if facts.privileges[f"/storage/{want.storage}"] & {"Datastore.Audit", "Datastore.AllocateSpace"}:
            yield Finding(f"{facts.node} has no storage {want.storage}", (status,))
        return  # a storage that may not be seen is a matter of privileges
    if not storage.active:
        yield Finding(f"the storage {want.storage} is not active", (status,))
    elif "rootdir" not in storage.content:
        holds = ", ".join(sorted(storage.content))
        yield Finding(f"the storage {want.storage} holds no containers' disks (but {holds})", (status,))
    elif storage.free_bytes < want.rootfs_gib * properties.GIB:
        free = storage.free_bytes // properties.GIB
        yield Finding(
            f"the storage {want.storage} has {free} GiB free, container.rootfs_gib wants {want.rootfs_gib}",
            (status, *([f"container.rootfs_gib: {free}"] if free else [])),
        )


def _template(want: Container, facts: ClusterFacts) -> Iterator[Finding]:
    storage, _, file = want.template.partition(":vztmpl/")
    if facts.templates is not None:
        if want.template not in facts.templates:
            download = command("pveam", "download", storage, file)
            there = ", ".join(sorted(facts.templates)) or "none"
            yield Finding(
                f"the template {want.template} is not there (there is: {there})",
                (f"pveam update && {download}  # as root on {facts.node}",),
            )
        return
    if (seen := facts.storages.get(storage)) is not None:
        state = "is not active" if not seen.active else "holds no templates"
        yield Finding(
            f"the storage {storage} of the template {state}",
            (f"pvesm status --content vztmpl  # as root on {facts.node}",),
        )
    elif facts.privileges[f"/storage/{storage}"] & {"Datastore.Audit", "Datastore.AllocateSpace"}:
        yield Finding(f"{facts.node} has no storage {storage}", (f"pvesm status  # as root on {facts.node}",))


def _bridge(want: Container, facts: ClusterFacts) -> Iterator[Finding]:
    if facts.bridges and want.net.bridge not in facts.bridges:
        yield Finding(
            f"{facts.node} shows no bridge {want.net.bridge} (it shows {', '.join(sorted(facts.bridges))})",
            (f"ip -br link show type bridge  # as root on {facts.node}",),
        )
