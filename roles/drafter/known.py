"""Published drafters and families of targets: the table that can say which value is the right one."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from roles.drafter.view import View

Value = int | tuple[int, ...] | tuple[str, ...]


@dataclass(frozen=True)
class KnownDrafter:
    """What one published revision of a drafter says. fields: see `field_of`; target: sizes of the target it is for."""

    repository: str
    revision: str | None
    target: Mapping[str, int]
    fields: Mapping[str, Value]
    sources: tuple[str, ...]

    @property
    def generation(self) -> str:
        """Which family of drafters it is of, by its name."""
        name = self.repository.lower()
        return next((one for one in ("dflash2", "dspark") if one in name), "dflash")

    def is_revision(self, revision: str | None) -> bool:
        """Whether it can be that revision; one that is not told can be any."""
        if self.revision is None or revision is None:
            return True
        return revision.startswith(self.revision) or self.revision.startswith(revision)


@dataclass(frozen=True)
class Family:
    """Targets with one tokenizer. used: first and last id of its added tokens, where known."""

    name: str
    vocab_size: int
    mask_token_ids: tuple[int, ...]
    used: tuple[int, int] | None

    def uses(self, token: int) -> bool:
        """Whether the tokenizer's own added tokens fill that id."""
        return self.used is not None and self.used[0] <= token <= self.used[1]


def drafters(repository: str | None, revision: str | None = None) -> tuple[KnownDrafter, ...]:
    """The published revisions that a drafter from that repository can be: none when it is not known."""
    if repository is None:
        return ()
    wanted = repository.lower()
    return tuple(known for known in _table()[0] if known.repository.lower() == wanted and known.is_revision(revision))


def lookalikes(view: View, layers: int | None, hidden: int | None, vocab: int | None) -> tuple[KnownDrafter, ...]:
    """The published drafters that a config can be, by the sizes of its target and the number of its own layers."""
    have = {"num_hidden_layers": layers, "hidden_size": hidden, "vocab_size": vocab}
    return tuple(
        known
        for known in _table()[0]
        if {"num_hidden_layers", "hidden_size"} <= known.target.keys()
        and all(have[name] == size for name, size in known.target.items() if name != "vocab_size" or vocab is not None)
        and known.fields.get("num_hidden_layers", view.layers) == view.layers
        and known.generation == view.generation
    )


def family(vocab_size: int | None) -> Family | None:
    """The family of a target with a vocabulary of that size."""
    return next((one for one in _table()[1] if one.vocab_size == vocab_size), None)


def value_of(view: View, name: str) -> Value | None:
    """What a config says for a field of the table."""
    readers: dict[str, Value | None] = {
        "mask_token_id": view.mask,
        "target_layer_ids": view.ids,
        "block_size": view.block,
        "layer_types": view.attention,
        "sliding_window": view.window,
        "num_hidden_layers": view.size("num_hidden_layers"),
    }
    return readers[name]


def field_of(view: View, name: str) -> str:
    """Where a config has (or would have) a field of the table."""
    places = {
        "mask_token_id": view.mask_field,
        "target_layer_ids": view.ids_field,
        "block_size": view.block_field,
        "sliding_window": view.window_field,
    }
    return places.get(name, name)


@cache
def _table() -> tuple[tuple[KnownDrafter, ...], tuple[Family, ...]]:
    text = Path(__file__).with_name("known.yml").read_text(encoding="utf-8")
    table = yaml.safe_load(text)
    return (
        tuple(
            KnownDrafter(
                repository=entry["repository"],
                revision=entry.get("revision"),
                target=entry["target"],
                fields={name: _value(name, value) for name, value in entry["fields"].items()},
                sources=tuple(entry["sources"]),
            )
            for entry in table["drafters"]
        ),
        tuple(
            Family(
                name=entry["name"],
                vocab_size=entry["vocab_size"],
                mask_token_ids=tuple(entry["mask_token_ids"]),
                used=tuple(entry["used"]) if "used" in entry else None,
            )
            for entry in table["families"]
        ),
    )


def _value(name: str, value: object) -> Value:
    if name == "layer_types" and isinstance(value, dict):
        return tuple(kind for kind, count in value.items() for _ in range(count))
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, int):
        return value
    raise TypeError(f"known.yml: {name} cannot be {value!r}")
