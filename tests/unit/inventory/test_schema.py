"""The JSON Schema that editors get."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from inventory.complaints import keys_below
from inventory.models import Host, Node
from inventory.schema import schema
from tests.unit.inventory.conftest import CHECKOUT, SMALL

VALIDATOR = Draft202012Validator(schema())


def complaints(document: object) -> list[str]:
    return [error.json_path for error in VALIDATOR.iter_errors(document)]


def test_it_is_a_schema_of_the_draft_that_it_names() -> None:
    Draft202012Validator.check_schema(schema())
    assert schema()["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    json.dumps(schema(), allow_nan=False)


def test_the_example_is_valid() -> None:
    assert complaints(yaml.safe_load((CHECKOUT / "inventory" / "example.yml").read_text())) == []


def test_layers_may_be_partial_and_hosts_empty() -> None:
    document = yaml.safe_load(SMALL)
    document["defaults"] = {"container": {"mounts": None}, "drafter": {"tokens": 5}, "server": {"env": {"A": 1}}}
    document["groups"]["both"]["engine"] = {"build": "source"}
    document["hosts"]["ct131"] = None
    document["hosts"]["ct132"] = {}
    document["version"] = 1
    assert complaints(document) == []
    assert complaints({"hosts": None, "defaults": None, "groups": None, "nodes": None}) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.update(host={}),
        lambda file: file.update(version=2),
        lambda file: file["hosts"].update({"a_b": None}),
        lambda file: file["hosts"]["ct129"].update(port=1),
        lambda file: file["hosts"]["ct129"]["container"].update(ctid=99),
        lambda file: file["hosts"]["ct129"]["engine"].update(source="0.33.0"),
        lambda file: file["nodes"]["pve1"]["api"].pop("host"),
        lambda file: file["nodes"]["pve1"]["api"]["token"].update(secret="literal"),
        lambda file: file["groups"]["both"].pop("hosts"),
        lambda file: file["groups"]["both"]["hosts"].append("ct129"),
        lambda file: file.update(defaults={"gate": {"max_drop": 10}}),
    ],
)
def test_what_the_loader_refuses_alone_the_editor_marks(spoil: Callable[[Any], object]) -> None:
    document = yaml.safe_load(SMALL)
    assert complaints(document) == []
    spoil(document)
    assert complaints(document)


def test_every_key_is_described() -> None:
    """An editor shows the sentence when the key is typed."""
    definitions: Any = schema()["$defs"]
    bare = [
        f"{name}.{key}"
        for name, definition in definitions.items()
        for key, field in definition.get("properties", {}).items()
        if not field.get("description")
    ]
    assert bare == []
    known = {path[-1] for model in (Host, Node) for path in keys_below(model)}
    assert known <= {key for definition in definitions.values() for key in definition.get("properties", {})}
