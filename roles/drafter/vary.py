"""What a search tries: values for fields of a config that nobody knows, and every combination of them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from pydantic import JsonValue

from inventory.errors import UsageError
from roles.drafter.view import COUNTED_FROM_ONE, view

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_MOST = 64
"""Combinations that are a search; more are a mistake: each costs a cold start of the server."""


@dataclass(frozen=True)
class Field:
    """A field and the values to try for it. name: as it was asked; place: dotted key in the config.

    target_layer_ids are asked 0-based, "output of layer i", whatever the numbering at their place is.
    """

    name: str
    place: str
    values: tuple[JsonValue, ...]


@dataclass(frozen=True)
class Candidate:
    """One combination.

    choice:  field's place -> value as JSON text
    overlay: to be merged over the config
    doubts:  how much the check has against it, 0 for nothing
    """

    choice: Mapping[str, str]
    overlay: Mapping[str, JsonValue]
    doubts: int = 0

    @property
    def label(self) -> str:
        """In a few words: "mask_token_id 248070, target_layer_ids [1,16,31,46,61]"."""
        return ", ".join(f"{place.rpartition('.')[2]} {value}" for place, value in self.choice.items())


def read(asked: Sequence[str], config: Mapping[str, object]) -> tuple[Field, ...]:
    """Read --vary FIELD=VALUES, with the places that the fields have in `config`.

    VALUES are separated by ";" where there is one or they are lists, else by ",". A value is JSON, or else text.
    Raises UsageError.
    """
    fields = tuple(_field(one, config) for one in asked)
    names = [field.place for field in fields]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"--vary {twice} is given twice", tries=["one --vary with all of its values"])
    count = 1
    for field in fields:
        count *= len(field.values)
    if not fields or count < 2:
        raise UsageError(
            "nothing to search: --vary wants at least two values",
            tries=["--vary mask_token_id=248064,248070", '--vary "target_layer_ids=[1,17,33];[1,16,31]"'],
        )
    if count > _MOST:
        raise UsageError(f"{count} combinations are too many: each one is a cold start of the server")
    return fields


def combinations(fields: Sequence[Field]) -> tuple[Candidate, ...]:
    """All of them. The first field varies fastest, so that its values are compared with all else equal early on."""
    found = []
    for values in product(*(field.values for field in reversed(fields))):
        chosen = list(zip(fields, reversed(values), strict=True))
        overlay: dict[str, JsonValue] = {}
        for field, value in chosen:
            _set(overlay, field.place.split("."), value)
        found.append(Candidate({field.place: _text(value) for field, value in chosen}, overlay))
    return tuple(found)


def _field(asked: str, config: Mapping[str, object]) -> Field:
    name, equals, listed = asked.partition("=")
    name = name.strip()
    if not equals or not _KEY.fullmatch(name):
        raise UsageError(f"--vary {asked}: FIELD=VALUE,VALUE is wanted", tries=["--vary mask_token_id=248064,248070"])
    separator = ";" if ";" in listed or listed.lstrip().startswith(("[", "{")) else ","
    values = tuple(_value(one.strip()) for one in listed.split(separator) if one.strip())
    if not values:
        raise UsageError(f"--vary {name} has no values")
    if len({_text(value) for value in values}) < len(values):
        raise UsageError(f"--vary {name} has a value twice")
    seen = view(config)
    if name == "target_layer_ids":
        return Field(name, seen.ids_field, tuple(_numbered(value, seen.ids_field) for value in values))
    return Field(name, seen.mask_field if name == "mask_token_id" else name, values)


def _numbered(ids: JsonValue, place: str) -> JsonValue:
    """Layers as "output of layer i", counted as the field at `place` counts them."""
    if not isinstance(ids, list) or not all(isinstance(one, int) for one in ids):
        raise UsageError(f"--vary target_layer_ids: {_text(ids)} is no list of layers", tries=['"[1,17];[1,16]"'])
    return [int(str(one)) + (place in COUNTED_FROM_ONE) for one in ids]


def _value(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text
    return value


def _text(value: JsonValue) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _set(overlay: dict[str, JsonValue], path: Sequence[str], value: JsonValue) -> None:
    head, *rest = path
    if not rest:
        overlay[head] = value
        return
    below = overlay.setdefault(head, {})
    if not isinstance(below, dict):
        raise UsageError(f"--vary {'.'.join(path)} lies within a value that is varied as a whole")
    _set(below, rest, value)
