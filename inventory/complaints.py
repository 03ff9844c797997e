"""What validation found, in plain words: the value that was met, what is wanted, the nearest right key, the line."""

import difflib
import json
import typing
from collections.abc import Iterable, Iterator

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from inventory.errors import Problem
from inventory.leaks import is_secret_name, is_secret_value
from inventory.located import Located, dotted
from inventory.names import LITERAL_SECRET, NOT_AS_WANTED

_BOUNDS = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
}
_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
}


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint with the nearest known word, if one is near."""
    near = difflib.get_close_matches(word.lower(), list(known), n=1)
    return f"did you mean '{near[0]}'?" if near else None


def problems(
    error: ValidationError, tree: Located, model: type[BaseModel], prefix: str, *, partial: bool = False
) -> Iterator[Problem]:
    """Everything in `error`, which `model` said about `tree`. `prefix` is the dotted key of the tree's root.

    A value that a lower layer wrote is reported with that layer's key and line. Secrets are never shown.
    partial leaves out what another layer may still put right: missing keys, and rules between several keys.
    """
    details = error.errors(include_url=False)
    meant = {
        (*detail["loc"][:-1], near)
        for detail in details
        if detail["type"] == "extra_forbidden" and (near := _nearest(detail["loc"], model))
    }
    for detail in details:
        missing = detail["type"] == "missing"
        between_keys = detail["type"] == "value_error" and isinstance(detail["input"], dict)
        if missing and detail["loc"] in meant:
            continue  # it is there, misspelt
        if not (partial and (missing or between_keys)):
            yield _problem(detail, tree, model, prefix)


def keys_below(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """The paths of all keys that `model` knows, to any depth."""
    for name, field in model.model_fields.items():
        yield (name,)
        if inner := _model_in(field.annotation):
            yield from ((name, *rest) for rest in keys_below(inner))


def _problem(detail: ErrorDetails, tree: Located, model: type[BaseModel], prefix: str) -> Problem:
    loc = detail["loc"]
    of_key = loc[-1:] == ("[key]",)
    path, value = _reach(loc[:-1] if of_key else loc, tree)
    key = _written(path, value, prefix)
    if detail["type"] == "missing":
        key = f"{prefix}.{dotted((*path, loc[-1]))}"
        message, hint = "is missing", _described(_model_at(model, path), str(loc[-1]))
    elif detail["type"] == "extra_forbidden":
        message, hint = "is not a key here", _right_key(loc, model)
    elif of_key:
        message, hint = f"{detail['msg']} is wanted as a key", None
    else:
        message, hint = _words(detail, path)
    return Problem(value.origin.file, value.origin.line, key, message, hint)


def _reach(loc: tuple[int | str, ...], tree: Located) -> tuple[tuple[int | str, ...], Located]:
    """The value at `loc`, or the last one on the way (pydantic adds names of union members to the end)."""
    path: tuple[int | str, ...] = ()
    for part in loc:
        inner = tree.child(part)
        if inner is None:
            break
        path, tree = (*path, part), inner
    return path, tree


def _written(path: tuple[int | str, ...], value: Located, prefix: str) -> str:
    """The key as the file has it: below the layer that wrote it."""
    return ".".join(part for part in (value.origin.layer or prefix, dotted(path)) if part)


def _described(above: type[BaseModel] | None, name: str) -> str | None:
    """What a key that is missing means; for a mapping, the keys that it needs."""
    field = above.model_fields[name] if above else None
    inner = _model_in(field.annotation) if field else None
    if inner:
        return f"with {', '.join(key for key, needed in inner.model_fields.items() if needed.is_required())}"
    return (field.description or "").rstrip(".") or None if field else None


def _nearest(loc: tuple[int | str, ...], model: type[BaseModel]) -> str | None:
    """The key that was probably meant by the unknown one at `loc`."""
    above = _model_at(model, loc[:-1])
    near = difflib.get_close_matches(str(loc[-1]).lower(), above.model_fields, n=1) if above else []
    return near[0] if near else None


def _right_key(loc: tuple[int | str, ...], model: type[BaseModel]) -> str | None:
    if near := _nearest(loc, model):
        return f"did you mean '{near}'?"
    elsewhere = [dotted(path) for path in keys_below(model) if path[-1] == loc[-1]]
    if elsewhere:
        return f"did you mean {' or '.join(repr(key) for key in elsewhere)}?"
    above = _model_at(model, loc[:-1])
    return f"known are {', '.join(above.model_fields)}" if above else None


def _words(detail: ErrorDetails, path: tuple[int | str, ...]) -> tuple[str, str | None]:
    """Message and hint for a value that is not as it must be."""
    kind, context, value = detail["type"], detail.get("ctx", {}), detail["input"]
    met = _met(value, path)
    if kind == LITERAL_SECRET:
        return (
            "a reference is wanted: env:NAME, file:PATH or command:ARGV; what stands there is not shown",
            "if it is the secret itself, move it out of this file and consider it known",
        )
    if kind == NOT_AS_WANTED:
        return f"{context['wanted']} is wanted, {met} was met", None
    if kind == "literal_error":
        expected = str(context["expected"])
        known = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
        return f"{expected} is wanted, {met} was met", did_you_mean(value, known) if isinstance(value, str) else None
    if kind in _BOUNDS:
        return f"{_BOUNDS[kind].format(**context)} is wanted, {met} was met", None
    if kind in _KINDS:
        return f"{_KINDS[kind]} is wanted, {met} was met", _mend(kind, value)
    if kind == "value_error":
        return str(context["error"]), None
    if kind == "string_too_long":
        return f"at most {context['max_length']} characters are wanted", None
    return detail["msg"], None


def _mend(kind: str, value: JsonValue) -> str | None:
    """How to write what was probably meant."""
    if kind == "string_type" and isinstance(value, int | float):
        return f'quote it: "{json.dumps(value)}"'
    if kind in {"tuple_type", "list_type"} and isinstance(value, str | int):
        return "write it in brackets: [ ]"
    if isinstance(value, str):
        if kind.startswith("bool") and value.lower() in {"yes", "on", "y"}:
            return "write true"
        if kind.startswith("bool") and value.lower() in {"no", "off", "n"}:
            return "write false"
        if kind.startswith(("int", "float")) and value.replace(".", "", 1).isdecimal():
            return "remove the quotes"
    return None


def _met(value: JsonValue, path: tuple[int | str, ...]) -> str:
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if any(part == "ticket" or (isinstance(part, str) and is_secret_name(part)) for part in path):
        return "a value that is not shown"
    if not isinstance(value, str):
        return json.dumps(value)
    if is_secret_value(value):
        return "a value that is not shown"
    return repr(value) if len(value) <= 60 else repr(value[:57]) + "..."


def _model_at(model: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel] | None:
    """The model whose keys stand at `path`; None where the keys are free (env, config)."""
    found: type[BaseModel] | None = model
    for part in path:
        if isinstance(part, int):
            continue
        field = found.model_fields.get(part) if found else None
        found = _model_in(field.annotation) if field else None
    return found


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The model within `X`, `X | None`, `tuple[X, ...]` or `Annotated[X, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in typing.get_args(annotation) if (model := _model_in(part))), None)
