"""From what is wanted and what is there to the steps between: pure decisions."""

from collections.abc import Iterator

from inventory.models import Container
from roles.container import diff, properties, refusals, words
from roles.container.facts import ContainerFacts
from roles.container.node import NodeFacts
from roles.container.steps import Attach, Create, Fields, Resize, Restart, Start, Update
from roles.step import Step, nothing

_ROLE = "container"
_PLUGS_DEVICES = (9, 0)
"""Since PVE 9.0 a running container gets a new dev[n] at once (pve-container c702167); before, at its next start."""

_BY_SHELL = "no API token may set this"


def plan(
    name: str,
    want: Container,
    have: ContainerFacts,
    node: NodeFacts,
    public_key: str | None,
    *,
    adopt: bool = False,
) -> list[Step]:
    """The steps that make container `want` of the host `name` so, in order; never empty.

    public_key: an ssh public key ("ssh-ed25519 AAAA... who") that a new container lets in as root.
    adopt: take over a container that is not marked as ours.
    Raises PreflightError with everything that stands in the way.
    """
    if have.missing or have.creating:
        refusals.stop([*refusals.taken(have), *refusals.devices(want, node)])
        return list(_from_nothing(name, want, have, public_key))
    refusals.stop(list(refusals.half_made(have)))
    refusals.stop(
        [
            *(() if adopt else refusals.foreign(name, have)),
            *refusals.unchangeable(name, want, have),
            *refusals.devices(want, node),
        ]
    )
    steps = list(_changes(name, want, have, node))
    return steps or [nothing(_ROLE, f"container {have.ctid} is as wanted")]


def _from_nothing(name: str, want: Container, have: ContainerFacts, public_key: str | None) -> Iterator[Step]:
    fields = create_fields(name, want, public_key)
    yield Create(
        role=_ROLE,
        action="create",
        summary=f"create container {want.ctid} from {want.template.partition('/')[2]}",
        diff=tuple((key, None, str(value)) for key, value in fields.items() if key not in _NOT_SHOWN),
        note="a create that was begun is still running: it is waited for" if have.creating else None,
        ctid=want.ctid,
        fields=fields,
        task=have.creating,
    )
    created = {key: str(value) for key, value in fields.items()}
    attach = diff.by_root(want, created, plugs_devices=True)
    if attach:
        yield _attach(want.ctid, attach, note=_BY_SHELL)
    yield _start(want.ctid)


_NOT_SHOWN = frozenset({"vmid", "description", "ssh-public-keys"})


def create_fields(name: str, want: Container, public_key: str | None) -> Fields:
    """The fields of the create call: what an API token may say."""
    fields: dict[str, str | int] = {
        "vmid": want.ctid,
        "hostname": want.hostname or name,
        "ostemplate": want.template,
        "rootfs": f"{want.storage}:{want.rootfs_gib}",
        "cores": want.cores,
        "memory": want.memory_mib,
        "swap": want.swap_mib,
        "net0": properties.dump(words.net0(want.net, None)),
        "onboot": int(want.onboot),
        "unprivileged": int(want.unprivileged),
        "tags": ";".join(sorted(words.tags(want, None))),
        "description": words.description(name, want),
    }
    if want.unprivileged and "nesting" in want.features:
        fields["features"] = "nesting=1"
    if want.nameserver is not None:
        fields["nameserver"] = want.nameserver
    if want.pool is not None:
        fields["pool"] = want.pool
    if public_key is not None:
        fields["ssh-public-keys"] = public_key.strip() + "\n"
    return fields


def _changes(name: str, want: Container, have: ContainerFacts, node: NodeFacts) -> Iterator[Step]:
    config = have.next_config
    by_api = diff.by_api(name, want, config)
    if words.host_of(config) not in (None, name):  # adopted
        by_api.put("description", words.for_host(name, config["description"]), words.host_of(config), name)
    by_root = diff.by_root(want, config, plugs_devices=node.pve >= _PLUGS_DEVICES)
    waiting = _waiting(name, want, have, (*by_api.rows, *by_root.rows))
    waits = f"the container is locked ({have.lock}): waits for it" if have.lock else None
    if by_api:
        yield Update(
            role=_ROLE,
            action="update",
            summary=f"change container {have.ctid}",
            diff=tuple(by_api.rows),
            note=waits,
            ctid=have.ctid,
            fields=by_api.fields,
            delete=tuple(by_api.delete),
            digest=have.digest,
            seen=have.config,
        )
    yield from _resize(want, have)
    if by_root:
        yield _attach(have.ctid, by_root, note=f"{_BY_SHELL}; {waits}" if waits else _BY_SHELL)
    if not have.running:
        yield _start(have.ctid)
    elif by_api.needs_restart or by_root.needs_restart or waiting:
        yield Restart(
            role=_ROLE,
            action="restart",
            summary=f"restart container {have.ctid}",
            diff=waiting,
            note="what runs in it stops; some changes apply at a start only",
            ctid=have.ctid,
        )
    made_from = words.template_of(have.config)
    if made_from not in (None, want.template):
        yield nothing(
            _ROLE,
            f"container {have.ctid} stays as it was made, from {made_from}: "
            f"destroy and create again to have {want.template}",
        )


def _waiting(name: str, want: Container, have: ContainerFacts, new: tuple[diff.Row, ...]) -> tuple[diff.Row, ...]:
    """What was changed as it is wanted but is not in force yet. What others left pending is their business."""
    in_force = (*diff.by_api(name, want, have.config).rows, *diff.by_root(want, have.config, plugs_devices=True).rows)
    to_do = {key for key, _, _ in new}
    return tuple(row for row in in_force if row[0] not in to_do)


def _resize(want: Container, have: ContainerFacts) -> Iterator[Step]:
    rootfs = properties.parse(have.next_config.get("rootfs", ""), "volume")
    size = properties.size_bytes(rootfs.get("size", ""))
    if size is not None and size < want.rootfs_gib * properties.GIB:
        yield Resize(
            role=_ROLE,
            action="update",
            summary=f"grow the root file system of container {have.ctid}",
            diff=(("rootfs.size", rootfs["size"], f"{want.rootfs_gib}G"),),
            note="a disk cannot shrink again",
            ctid=have.ctid,
            disk="rootfs",
            size_gib=want.rootfs_gib,
        )


def _attach(ctid: int, changes: diff.Changes, note: str) -> Attach:
    argv = ["pct", "set", str(ctid)]
    for key, value in changes.fields.items():
        argv += [f"--{key}", str(value)]
    if changes.delete:
        argv += ["--delete", ",".join(changes.delete)]
    return Attach(
        role=_ROLE,
        action="update",
        summary=f"change container {ctid} through its node's root shell",
        diff=tuple(changes.rows),
        note=note,
        ctid=ctid,
        argv=tuple(argv),
    )


def _start(ctid: int) -> Start:
    return Start(
        role=_ROLE,
        action="start",
        summary=f"start container {ctid}",
        diff=(("status", "stopped", "running"),),
        ctid=ctid,
    )
