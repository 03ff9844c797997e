"""An inventory file, read, merged and checked: everything that is wrong with it at once, or hosts and nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inventory.complaints import did_you_mean
from inventory.conflicts import conflicts
from inventory.errors import InventoryError, Problem, UsageError
from inventory.find import Found, find
from inventory.located import Located, Origin, dotted
from inventory.merge import merge_all, without_nulls
from inventory.models import Host, Node
from inventory.names import HOST_NAME_WANTED, is_host_name
from inventory.positions import read
from inventory.resolve import ResolvedHost, check, resolve, resolve_node, with_changes

__all__ = ["Found", "Inventory", "Origin", "ResolvedHost", "find", "load", "with_changes"]

_TOP = ("version", "defaults", "groups", "nodes", "hosts")
_BEGIN = ("cp inventory/example.yml inventory/hosts.yml", "invoke lab.up")


@dataclass(frozen=True)
class Inventory:
    """What one file wants. Names of hosts and groups do not overlap; every node and member that is named exists."""

    path: Path
    hosts: dict[str, ResolvedHost]
    nodes: dict[str, Node]
    groups: dict[str, tuple[str, ...]]

    def select(self, names: Sequence[str]) -> list[ResolvedHost]:
        """The hosts that `names` (of hosts or groups) stand for, each once, in the order of the names.

        Without names the only host there is. Raises UsageError.
        """
        listing = f"hosts: {', '.join(self.hosts) or 'none'}"
        if self.groups:
            listing += f"; groups: {', '.join(self.groups)}"
        if not names:
            if len(self.hosts) == 1:
                return list(self.hosts.values())
            what = f"which host? {self.path} has {len(self.hosts)}" if self.hosts else f"{self.path} has no hosts"
            raise UsageError(what, why=[listing], tries=[f"--host {name}" for name in list(self.hosts)[:1]])
        selected: dict[str, ResolvedHost] = {}
        for name in names:
            if name not in self.hosts and name not in self.groups:
                hint = did_you_mean(name, [*self.hosts, *self.groups])
                what = f"no host or group is called {name!r} in {self.path}"
                raise UsageError(what, why=[hint, listing] if hint else [listing])
            selected |= {member: self.hosts[member] for member in self.groups.get(name, (name,))}
        return list(selected.values())


def load(path: Path) -> Inventory:
    """The inventory in a YAML file. Raises InventoryError with all its problems, in the order of the lines.

    Top-level keys: `defaults` (fields of a host), `groups` (name -> `hosts`: names, and fields of a host), `nodes`
    (name -> fields of a node), `hosts` (name -> fields of a host), `version: 1`. How the layers become one host is
    said at inventory.merge.merge. Paths on the controller are relative to the file's folder.
    """
    loading = _Loading(path, read(path))
    if loading.problems:
        by_line = sorted(dict.fromkeys(loading.problems), key=lambda problem: problem.line or 0)
        raise InventoryError(by_line, tries=_BEGIN if loading.empty else ())
    return Inventory(path, loading.hosts, loading.nodes, loading.groups)


class _Loading:
    """One pass over a tree: collects what it can read and all that is wrong."""

    def __init__(self, path: Path, tree: Located) -> None:
        self.folder = path.parent
        self.problems: list[Problem] = []
        self.hosts: dict[str, ResolvedHost] = {}
        self.nodes: dict[str, Node] = {}
        self.groups: dict[str, tuple[str, ...]] = {}
        self.empty = not tree.value
        if not tree.children:
            what = "is empty" if self.empty else "is not a mapping"
            self._problem(tree, "file", what, f"an inventory has the keys {', '.join(_TOP[1:])}")
            return
        self.tree = tree
        self._top_level()
        self._unsaid()
        for name, node in self._entries("nodes").items():
            checked, found = resolve_node(name, node, self.folder)
            self.problems += found
            if checked:
                self.nodes[name] = checked
        defaults = self._mapping(tree.child("defaults"), "defaults")
        self._layer(defaults, "defaults")
        groups = self._groups()
        for name, host in self._entries("hosts").items():
            layers = [defaults, *(group for key, group in groups.items() if name in self.groups[key]), host]
            self._host(name, merge_all(layers))
        self.problems += conflicts(self.hosts)

    def _top_level(self) -> None:
        for key, value in self.tree.children.items():
            if key not in _TOP:
                hint = did_you_mean(key, _TOP) or f"known are {', '.join(_TOP)}"
                self._problem(value, key, "is not a key here", hint)
        version = self.tree.child("version")
        if version and (version.value != 1 or version.value is True):
            self._problem(version, "version", "1 is the only version there is")

    def _unsaid(self) -> None:
        for path, value in self.tree.walk():
            may_be_empty = len(path) == 1 or (len(path) == 2 and path[0] != "defaults")
            if not value.said and not may_be_empty:
                hint = "write null to remove what another layer has set, or remove the line"
                self._problem(value, dotted(path), "nothing stands after the colon", hint)

    def _entries(self, section: str) -> dict[str, Located]:
        """The named entries of a section, those that can be looked into."""
        good: dict[str, Located] = {}
        for name, entry in self._mapping(self.tree.child(section), section).children.items():
            if not is_host_name(name):
                self._problem(entry, f"{section}.{name}", f"{HOST_NAME_WANTED} is wanted")
                continue
            mapping = self._mapping(entry, f"{section}.{name}")
            if mapping.children or entry.value in (None, {}):
                good[name] = mapping
        return good

    def _groups(self) -> dict[str, Located]:
        """The fields of each group, its members in self.groups."""
        hosts = self._mapping(self.tree.child("hosts"), "hosts").children
        fields: dict[str, Located] = {}
        for name, group in self._entries("groups").items():
            key = f"groups.{name}"
            if name in hosts:
                self._problem(group, key, "is the name of a host too", "give the group another name")
            members = group.child("hosts")
            if members is None or not isinstance(members.value, tuple):
                self._problem(members or group, f"{key}.hosts", "a list of host names is wanted", "hosts: [ct129]")
            self.groups[name] = tuple(self._members(members, f"{key}.hosts", hosts)) if members else ()
            rest = {word: value for word, value in group.children.items() if word != "hosts"}
            fields[name] = Located(rest, group.origin)
            self._layer(fields[name], key)
        return fields

    def _members(self, members: Located, key: str, hosts: Mapping[str, Located]) -> Iterator[str]:
        seen: set[str] = set()
        for item in members.value if isinstance(members.value, tuple) else ():
            name = str(item.value)
            if name in seen:
                self._problem(item, key, f"{name!r} is listed twice")
            elif name not in hosts:
                hint = did_you_mean(name, hosts) or f"hosts are {', '.join(hosts) or 'none'}"
                self._problem(item, key, f"no host is called {name!r}", hint)
            else:
                yield name
            seen.add(name)

    def _layer(self, tree: Located, prefix: str) -> None:
        """Check a part of a host by itself: a wrong value is wrong even where every host replaces it."""
        _, found = check(without_nulls(tree), Host, prefix, partial=True)
        self.problems += found
        self._node_of(tree)

    def _host(self, name: str, merged: Located) -> None:
        host, origins, found = resolve(name, merged, self.folder)
        self.problems += found
        self._node_of(merged)
        if host and host.node in self.nodes:
            self.hosts[name] = ResolvedHost(name, host, host.node, self.nodes[host.node], origins)

    def _node_of(self, tree: Located) -> None:
        nodes = self._mapping(self.tree.child("nodes"), "nodes").children
        node = tree.child("node")
        if node and isinstance(node.value, str) and is_host_name(node.value) and node.value not in nodes:
            hint = did_you_mean(node.value, nodes) or f"nodes are {', '.join(nodes) or 'none'}"
            self._problem(node, f"{node.origin.layer}.node", f"no node is called {node.value!r}", hint)

    def _mapping(self, value: Located | None, key: str) -> Located:
        """A mapping as it is; nothing or null as an empty one; anything else as a problem."""
        if value is None or value.value is None:
            return Located({}, value.origin if value else self.tree.origin)
        if not isinstance(value.value, Mapping):
            self._problem(value, key, "a mapping (key: value) is wanted")
            return Located({}, value.origin)
        return value

    def _problem(self, value: Located, key: str, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(value.origin.file, value.origin.line, key, message, hint))
