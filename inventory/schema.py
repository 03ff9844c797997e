"""The JSON Schema of an inventory file, for editors that complete and check while one types."""

from pydantic import JsonValue

from inventory.models import Host, Node
from inventory.names import HOST_NAME_PATTERN

Schema = dict[str, JsonValue]


def schema() -> Schema:
    """JSON Schema (draft 2020-12) of a whole file.

    It is looser than inventory.load: what one layer lacks another may give, so no key of a host is required, and null
    is allowed everywhere in a host because it removes what another layer has set.
    """
    host = Host.model_json_schema()
    node = Node.model_json_schema()
    definitions = _definitions(node)
    definitions |= {name: _partial(definition) for name, definition in _definitions(host).items()}
    definitions["Node"] = {key: value for key, value in node.items() if key != "$defs"}
    fields = _partial(host)
    members: Schema = {
        "type": "array",
        "items": {"type": "string", "pattern": HOST_NAME_PATTERN},
        "uniqueItems": True,
        "description": "Names of the hosts that the group lists.",
    }
    group: Schema = {
        **fields,
        "description": "Fields of a host, for the hosts that the group lists.",
        "properties": {"hosts": members, **_properties(fields)},
        "required": ["hosts"],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "specrail inventory",
        "description": "What is wanted on which hosts. Layers: defaults, then groups in file order, then the host.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "version": {"const": 1, "description": "Of this format."},
            "defaults": {**_or_null("Host"), "description": "Fields of every host, to any depth."},
            "groups": _named(_reference("Group"), "Fields that several hosts share."),
            "nodes": _named(_reference("Node"), "The Proxmox nodes and how to reach them."),
            "hosts": _named(_or_null("Host"), "The hosts: a container with one engine service each."),
        },
        "$defs": {**definitions, "Host": fields, "Group": group},
    }


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _or_null(name: str) -> Schema:
    return {"anyOf": [_reference(name), {"type": "null"}]}


def _named(entry: Schema, description: str) -> Schema:
    """A section whose keys are names."""
    return {
        "type": ["object", "null"],
        "propertyNames": {"pattern": HOST_NAME_PATTERN},
        "additionalProperties": entry,
        "description": description,
    }


def _definitions(model: Schema) -> dict[str, Schema]:
    found = model.get("$defs")
    return {name: part for name, part in found.items() if isinstance(part, dict)} if isinstance(found, dict) else {}


def _properties(model: Schema) -> dict[str, JsonValue]:
    found = model.get("properties")
    return found if isinstance(found, dict) else {}


def _partial(model: Schema) -> Schema:
    """A model of which a layer may give any part, and may set any key to null."""
    kept = {key: value for key, value in model.items() if key not in {"required", "$defs", "properties"}}
    return {**kept, "properties": {name: _nullable(field) for name, field in _properties(model).items()}}


def _nullable(field: JsonValue) -> JsonValue:
    if not isinstance(field, dict):
        return field
    notes = {key: value for key, value in field.items() if key in {"description", "default"}}
    rest = {key: value for key, value in field.items() if key not in {*notes, "title"}}
    return {**notes, "anyOf": [rest, {"type": "null"}]}
