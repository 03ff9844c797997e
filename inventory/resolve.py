"""From the merged words of a file to a host or node that is complete, checked and typed."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface, IPv6Interface
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from inventory.complaints import problems
from inventory.errors import Problem, UsageError
from inventory.leaks import leaks
from inventory.located import Located, Origin, dotted, locate
from inventory.merge import merge, without_nulls
from inventory.models import Host, Node, Ssh

Checked = TypeVar("Checked", bound=BaseModel)

BUILT_IN = "default"
"""Layer of a value that nobody wrote."""
DERIVED = "derived"
"""Layer of a value that follows from another one, at whose place it is shown."""
FLAG = Origin("", None, "flag")


@dataclass(frozen=True)
class ResolvedHost:
    """A host as it is wanted, with its node.

    name:      its key under `hosts`
    node_name: the node's key under `nodes`; the node's own name in the cluster is node.name
    origins:   dotted key ("container.net.ip") -> where it was written, for every key that does not have its built-in
               default; a list is one value
    """

    name: str
    host: Host
    node_name: str
    node: Node
    origins: Mapping[str, Origin]


def check(
    tree: Located, model: type[Checked], prefix: str, *, partial: bool = False
) -> tuple[Checked | None, list[Problem]]:
    """The typed value of a tree, or None with all that is wrong. `prefix` is the dotted key of the tree's root.

    Values are taken as written: the text "8" is no number and `yes` is not true.
    partial overlooks what the layers above may still put right.
    """
    found = [
        Problem(value.origin.file, value.origin.line, f"{value.origin.layer}.{dotted(path)}", message, hint)
        for path, value, message, hint in leaks(tree)
    ]
    try:
        checked = model.model_validate_json(json.dumps(tree.plain()), strict=True)
    except ValidationError as error:
        return None, [*found, *problems(error, tree, model, prefix, partial=partial)]
    return (None if found else checked), found


def resolve(name: str, merged: Located, folder: Path) -> tuple[Host | None, Mapping[str, Origin], list[Problem]]:
    """The host `name` from its merged layers: nulls removed, what follows from other values filled in, checked.

    Paths on the controller are relative to `folder`. The host is None when there are problems.
    """
    tree = without_nulls(merged)
    tree = merge(_derived(name, tree), tree)
    host, found = check(tree, Host, f"hosts.{name}")
    if host is None:
        return None, {}, found
    try:
        host = _with_absolute_paths(host, folder)
    except RuntimeError as error:  # expanduser: no such user, or no home
        return None, {}, [Problem(tree.origin.file, tree.origin.line, f"hosts.{name}", str(error))]
    origins = {
        dotted(path): value.origin
        for path, value in tree.walk()
        if path and value.origin.layer != BUILT_IN and not any(isinstance(part, int) for part in path)
    }
    return host, origins, []


def resolve_node(key: str, tree: Located, folder: Path) -> tuple[Node | None, list[Problem]]:
    """The node `key`: its name in the cluster filled in, checked, paths on the controller relative to `folder`."""
    node, found = check(without_nulls(tree), Node, f"nodes.{key}")
    if node is None:
        return None, found
    try:
        api = node.api
        update: dict[str, object] = {"ca_file": _absolute(api.ca_file, folder)}
        if api.token:
            update["token"] = api.token.model_copy(update={"secret": _reference(api.token.secret, folder)})
        if api.ticket:
            update["ticket"] = api.ticket.model_copy(update={"password": _reference(api.ticket.password, folder)})
        update = {"name": node.name or key, "api": api.model_copy(update=update), "ssh": _ssh(node.ssh, folder)}
    except RuntimeError as error:
        return None, [Problem(tree.origin.file, tree.origin.line, f"nodes.{key}", str(error))]
    return node.model_copy(update=update), []


def with_changes(resolved: ResolvedHost, changes: Mapping[str, JsonValue]) -> ResolvedHost:
    """The host with other values for some dotted keys ({"drafter.tokens": 5}), checked as the file was.

    A mapping merges with what is there, null removes it; what follows from a changed value follows again.
    Raises UsageError with everything that is wrong with the changes.
    """
    tree = _tree_of(resolved)
    for key, value in changes.items():
        change = locate(value, FLAG)
        for part in reversed(key.split(".")):
            change = Located({part: change}, FLAG)
        tree = merge(tree, change)
    host, origins, found = resolve(resolved.name, tree, Path.cwd())
    if host is None:
        said = [
            f"{problem.key.removeprefix('flag.').removeprefix(f'hosts.{resolved.name}.')}: {problem.message}"
            + (f" ({problem.hint})" if problem.hint else "")
            for problem in found
        ]
        raise UsageError(said[0], where=(resolved.name,), why=said[1:])
    return replace(resolved, host=host, origins=origins)


def _tree_of(resolved: ResolvedHost) -> Located:
    """The host as a tree again, without what was derived."""

    def rebuild(value: object, path: tuple[str, ...]) -> Located:
        origin = resolved.origins.get(dotted(path), Origin("", None, BUILT_IN))
        if not isinstance(value, Mapping):
            return locate(value, origin)
        kept = {key: rebuild(child, (*path, key)) for key, child in value.items()}
        return Located({key: child for key, child in kept.items() if child.origin.layer != DERIVED}, origin)

    return rebuild(resolved.host.model_dump(mode="json", exclude_unset=True), ())


def _derived(name: str, tree: Located) -> Located:
    """What follows from the other values: container.hostname, ssh.host."""
    container = tree.child("container")
    if container is None or not isinstance(container.value, Mapping):
        return Located({}, tree.origin)
    derived = {"container": Located({"hostname": Located(name, replace(tree.origin, layer=DERIVED))}, container.origin)}
    if found := next(_static_addresses(container), None):
        address, origin = found
        origin = replace(origin, layer=DERIVED)
        derived["ssh"] = Located({"host": Located(address, origin)}, origin)
    return Located(derived, tree.origin)


def _static_addresses(container: Located) -> Iterator[tuple[str, Origin]]:
    """The container's own addresses, without prefix, as far as the file fixes them."""
    net = container.child("net")
    for key, kind in (("ip", IPv4Interface), ("ip6", IPv6Interface)):
        value = net.child(key) if net else None
        if value is None or not isinstance(value.value, str):
            continue
        try:
            yield str(kind(value.value).ip), value.origin
        except ValueError:
            continue  # dhcp, auto, none; or an error that the check reports


def _with_absolute_paths(host: Host, folder: Path) -> Host:
    secrets = {name: _reference(reference, folder) for name, reference in host.server.secrets.items()}
    server = host.server.model_copy(update={"secrets": secrets}) if secrets else host.server
    return host.model_copy(update={"ssh": _ssh(host.ssh, folder), "server": server})


def _ssh(ssh: Ssh, folder: Path) -> Ssh:
    paths = {"key": _absolute(ssh.key, folder), "known_hosts": _absolute(ssh.known_hosts, folder)}
    return ssh.model_copy(update={name: path for name, path in paths.items() if path})


def _absolute(path: str | None, folder: Path) -> str | None:
    return str(folder.absolute() / Path(path).expanduser()) if path else None


def _reference(reference: str, folder: Path) -> str:
    kind, _, path = reference.partition(":")
    return f"file:{_absolute(path, folder)}" if kind == "file" else reference
