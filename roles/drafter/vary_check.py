"""What speaks against a search before anything is started: fields that nobody reads, values of a wrong type."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from pydantic import JsonValue

from inventory.errors import UsageError
from roles.drafter.finding import Finding
from roles.drafter.rules.spelling import is_read, nearest
from roles.drafter.vary import Field

Check = Callable[[Field, JsonValue], Iterable[Finding]]
"""What the check finds when a field has this value and nothing else is changed."""


def refuse_unusable(fields: Sequence[Field], config: Mapping[str, object], check: Check, *, unread: bool) -> None:
    """Raise UsageError for fields that no engine reads, unless `unread` are wanted, and values of a wrong type.

    Engines keep a key that they do not read: a search in it would measure the same server again and again.
    """
    names: dict[str, None] = {}
    why: dict[str, None] = {}
    tries: dict[str, None] = {}
    for field in fields:
        if not unread and (complaint := _nobody_reads(field, config)):
            names[field.name] = why[complaint[0]] = tries[complaint[1]] = None
        wrong = {value: found for value in map(_text, field.values) if (found := _wrong_types(field, value, check))}
        if wrong:
            names[field.name] = None
            why.update(dict.fromkeys(line for found in wrong.values() for line in found))
            left = [value for value in map(_text, field.values) if value not in wrong]
            tries[_flag(field.name, left) if len(left) > 1 else f"--vary {field.name}=VALUE,VALUE"] = None
    if why:
        raise UsageError(f"--vary {', '.join(names)}: no search can use it", why=tuple(why), tries=tuple(tries))


def _nobody_reads(field: Field, config: Mapping[str, object]) -> tuple[str, str] | None:
    """Why, and what to type instead; None for a field that is read, or that the config has already."""
    if is_read(field.place):
        return None
    if near := nearest(field.place):
        values = [_text(value) for value in field.values]
        return f"{field.place}: no engine reads it; {near} is what engines read", _flag(near, values)
    if _has(config, field.place.split(".")):
        return None
    why = f"{field.place}: no engine is known to read it, and the config does not have it"
    return why, "--allow-drafter-errors, where this engine does read it"


def _wrong_types(field: Field, text: str, check: Check) -> list[str]:
    found = check(field, json.loads(text))
    return [f"{one.field}: {one.message}" for one in found if one.rule == "types" and _touches(one.field, field.place)]


def _touches(place: str, other: str) -> bool:
    return place == other or place.startswith(f"{other}.") or other.startswith(f"{place}.")


def _has(config: object, path: Sequence[str]) -> bool:
    if not path:
        return True
    return isinstance(config, dict) and path[0] in config and _has(config[path[0]], path[1:])


def _flag(name: str, values: Sequence[str]) -> str:
    if any(value.startswith(("[", "{")) for value in values):
        return f'--vary "{name}={";".join(values)}"'
    return f"--vary {name}={','.join(values)}"


def _text(value: JsonValue) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
