"""A resolved host for people and programs: every value, and where it came from."""

import re
from collections.abc import Iterator, Mapping

import yaml
from pydantic import JsonValue

from inventory.located import Origin, dotted
from inventory.resolve import BUILT_IN, ResolvedHost

_COMMENT_COLUMN = 48


def as_yaml(resolved: ResolvedHost) -> str:
    """The host as YAML that `inventory.load` reads back, `# file:line (layer)` behind every value.

    "default" is a value that nobody wrote, "derived" one that follows from the value in that place. Secrets appear as
    their references, which is all that a host holds.
    """
    return "".join(f"{line}\n" for line in _lines(resolved.host.model_dump(mode="json"), resolved.origins, ()))


def as_json(resolved: ResolvedHost) -> dict[str, JsonValue]:
    """The same facts for programs."""
    return {
        "name": resolved.name,
        "node": resolved.node_name,
        "host": resolved.host.model_dump(mode="json"),
        "origins": {
            key: {"file": origin.file or None, "line": origin.line, "layer": origin.layer}
            for key, origin in sorted(resolved.origins.items())
        },
    }


def _lines(mapping: Mapping[str, JsonValue], origins: Mapping[str, Origin], path: tuple[str, ...]) -> Iterator[str]:
    indent = "  " * len(path)
    for key, value in mapping.items():
        here = (*path, key)
        head = f"{indent}{_on_one_line(key)}:"
        if isinstance(value, dict) and value:
            yield head
            yield from _lines(value, origins, here)
            continue
        note = f"# {origins.get(dotted(here), BUILT_IN)}"
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            yield f"{head:<{_COMMENT_COLUMN}} {note}"
            yield from (f"{indent}  - {_on_one_line(item)}" for item in value)
        else:
            yield f"{f'{head} {_on_one_line(value)}':<{_COMMENT_COLUMN}} {note}"


class _Dumper(yaml.SafeDumper):
    """Quotes what YAML 1.1 *or* 1.2 would not read as text, and never breaks a line."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


_Dumper.add_representer(str, _Dumper.represent_text)
_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+(?:[eE][-+]?[0-9]+|o[0-7]+)$"), [*"-+0123456789"]
)


def _on_one_line(value: JsonValue) -> str:
    text = yaml.dump(value, Dumper=_Dumper, default_flow_style=True, allow_unicode=True, width=2**31, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")  # the end marker that PyYAML puts behind a lone scalar
