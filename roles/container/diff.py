"""What of a container's config is not as it is wanted, split by who may set it: the API, or the node's root shell."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from inventory.models import Container
from roles.container import properties, words

Row = tuple[str, str | None, str | None]


@dataclass
class Changes:
    """Values to set and keys to take away, and the rows that show them. needs_restart: not all apply while it runs."""

    fields: dict[str, str | int] = field(default_factory=dict)
    delete: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    needs_restart: bool = False

    def __bool__(self) -> bool:
        return bool(self.fields or self.delete)

    def put(
        self, key: str, value: str | int, old: str | None, new: str | None = None, *, restart: bool = False
    ) -> None:
        """Set a key; a value that is empty takes it away."""
        if value == "":
            self.delete.append(key)
        else:
            self.fields[key] = value
        self.rows.append((key, old, (str(value) or None) if new is None else new))
        self.needs_restart |= restart


def by_api(name: str, want: Container, config: Mapping[str, str]) -> Changes:
    """What an API token may set. PVE takes all of it at once on a running container, but nameserver and features."""
    changes = Changes()
    for key, number in (("cores", want.cores), ("memory", want.memory_mib), ("swap", want.swap_mib)):
        if config.get(key) != str(number):
            changes.put(key, number, config.get(key))
    hostname = want.hostname or name
    if config.get("hostname") != hostname:
        changes.put("hostname", hostname, config.get("hostname"))
    if properties.is_on(config.get("onboot")) != want.onboot:
        changes.put("onboot", int(want.onboot), config.get("onboot", "0"))
    if want.nameserver is not None and config.get("nameserver") != want.nameserver:
        changes.put("nameserver", want.nameserver, config.get("nameserver"), restart=True)
    _net0(want, config, changes)
    tags = words.tags(want, config.get("tags"))
    if tags != properties.tags(config.get("tags", "")):
        changes.put("tags", ";".join(sorted(tags)), config.get("tags"))
    if _features_by_api(want, config):
        _features(want, config, changes)
    return changes


def by_root(want: Container, config: Mapping[str, str], *, plugs_devices: bool) -> Changes:
    """What root on the node must set. plugs_devices: whether this PVE gives a new dev[n] to a running container."""
    changes = Changes()
    if not _features_by_api(want, config):
        _features(want, config, changes)
    _devices(want, config, changes, plugs_devices=plugs_devices)
    _mounts(want, config, changes)
    return changes


def _net0(want: Container, config: Mapping[str, str], changes: Changes) -> None:
    have = properties.parse(config.get("net0", ""))
    wanted = words.net0(want.net, config.get("net0"))
    if words.same_net(have, wanted):
        return
    changes.fields["net0"] = properties.dump(wanted)
    changes.rows += [
        (f"net0.{key}", have.get(key), wanted.get(key))
        for key in sorted({*have, *wanted})
        if have.get(key) != wanted.get(key)
    ]


def _features_by_api(want: Container, config: Mapping[str, str]) -> bool:
    """A token may switch nesting, and that only in an unprivileged container."""
    now, then = words.switched_on(config.get("features")), words.features(want, config.get("features"))
    changed = {key for key in {*now, *then} if now.get(key) != then.get(key)}
    return changed <= {"nesting"} and properties.is_on(config.get("unprivileged"))


def _features(want: Container, config: Mapping[str, str], changes: Changes) -> None:
    then = words.features(want, config.get("features"))
    if words.switched_on(config.get("features")) != then:
        changes.put("features", properties.dump(then), config.get("features"), restart=True)


def _devices(want: Container, config: Mapping[str, str], changes: Changes, *, plugs_devices: bool) -> None:
    have = {number: properties.parse(value, "path") for number, value in properties.numbered(config, "dev").items()}
    wanted = words.devices(want)
    taken = set(have)
    for path, mode in wanted.items():
        number = next((number for number, device in have.items() if device.get("path") == path), None)
        if number is None:
            number = _free(taken)
            changes.put(f"dev{number}", properties.dump({"path": path, "mode": mode}, "path"), None)
            changes.needs_restart |= not plugs_devices
        elif have[number].get("mode", "0660") != mode:
            value = properties.dump({**have[number], "mode": mode}, "path")
            changes.put(f"dev{number}", value, config[f"dev{number}"], restart=True)
    for number, device in have.items():
        if device.get("path") not in wanted and words.is_our_device(device.get("path", "")):
            changes.put(f"dev{number}", "", config[f"dev{number}"], restart=True)


def _mounts(want: Container, config: Mapping[str, str], changes: Changes) -> None:
    have = {number: properties.parse(value, "volume") for number, value in properties.numbered(config, "mp").items()}
    taken = set(have)
    for mount in want.mounts:
        number = next((number for number, there in have.items() if there.get("mp") == mount.target), None)
        if number is None:
            number = _free(taken)
            changes.put(f"mp{number}", properties.dump(words.mount(mount, None), "volume"), None)
            continue
        old = config[f"mp{number}"]
        wanted = words.mount(mount, old)
        if {**have[number], "ro": str(int(properties.is_on(have[number].get("ro"))))} != {"ro": "0", **wanted}:
            changes.put(f"mp{number}", properties.dump(wanted, "volume"), old, restart=True)


def _free(taken: set[int]) -> int:
    """The lowest free number, which is taken then. One that is about to be deleted is not free yet."""
    number = next(number for number in range(256) if number not in taken)
    taken.add(number)
    return number
