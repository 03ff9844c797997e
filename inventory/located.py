"""Values that know where they were written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class Origin:
    """Where a value was written.

    file:  as it was given; "" for a value that no file holds
    line:  1-based, of the key; None without a file
    layer: "defaults", "groups.NAME", "hosts.NAME" or "nodes.NAME" of the file; "flag"; "derived" from other values
    """

    file: str
    line: int | None
    layer: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.layer})" if self.file else self.layer


@dataclass(frozen=True)
class Located:
    """A value and where it was written. said is false where a key has nothing after its colon."""

    value: "Scalar | tuple[Located, ...] | Mapping[str, Located]"
    origin: Origin
    said: bool = True

    @property
    def children(self) -> "Mapping[str, Located]":
        """What a mapping holds; nothing for any other value."""
        return self.value if isinstance(self.value, Mapping) else {}

    def child(self, part: str | int) -> "Located | None":
        """What stands at one key of a mapping or one index of a list."""
        if isinstance(self.value, tuple):
            return self.value[part] if isinstance(part, int) and part < len(self.value) else None
        return self.children.get(part) if isinstance(part, str) else None

    def plain(self) -> JsonValue:
        """The value without places."""
        if isinstance(self.value, Mapping):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, tuple):
            return [item.plain() for item in self.value]
        return self.value

    def walk(self, path: tuple[str | int, ...] = ()) -> "Iterator[tuple[tuple[str | int, ...], Located]]":
        """Every value below this one and the value itself, outermost first, with its path."""
        yield path, self
        if isinstance(self.value, Mapping):
            for key, child in self.value.items():
                yield from child.walk((*path, key))
        elif isinstance(self.value, tuple):
            for index, item in enumerate(self.value):
                yield from item.walk((*path, index))


def dotted(path: tuple[str | int, ...]) -> str:
    """A path for people: ("container", "mounts", 0, "source") is "container.mounts[0].source"."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def locate(value: object, origin: Origin) -> Located:
    """Plain JSON as a tree whose every value comes from `origin`."""
    if isinstance(value, Mapping):
        return Located({str(key): locate(child, origin) for key, child in value.items()}, origin)
    if isinstance(value, list | tuple):
        return Located(tuple(locate(item, origin) for item in value), origin)
    if value is None or isinstance(value, str | int | float):
        return Located(value, origin)
    raise TypeError(f"{type(value).__name__} is not JSON")
