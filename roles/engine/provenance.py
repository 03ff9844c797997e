"""What a built venv was made from: written last into it, so that a venv with one is whole."""

import json
from dataclasses import asdict, dataclass, fields

FILE = "provenance.json"


@dataclass(frozen=True)
class Provenance:
    """One build. None where it does not apply or the file does not say.

    kind:          "vllm"
    source:        engine.source as the inventory had it ("pr:40898")
    repository, ref, commit, merge_base: for sources from git; commits are 40 hex digits
    version:       what the engine says about itself
    python:        "3.12.3"
    build:         "precompiled" or "source"
    torch_backend: as the inventory had it
    distribution:  what it is called on the package index, where that is not its kind
    packages, overrides: as the inventory had them, one a line
    freeze_sha256: of freeze.txt beside it, the list of installed packages
    built_at:      UTC, ISO 8601, on the host's clock
    arch:          the host's machine ("x86_64")
    duration_s:    how long the build took
    """

    kind: str
    source: str
    repository: str | None = None
    ref: str | None = None
    commit: str | None = None
    merge_base: str | None = None
    version: str | None = None
    python: str | None = None
    build: str | None = None
    torch_backend: str | None = None
    distribution: str | None = None
    packages: str | None = None
    overrides: str | None = None
    freeze_sha256: str | None = None
    built_at: str | None = None
    arch: str | None = None
    duration_s: float | None = None

    def text(self) -> str:
        """The file's content."""
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


def read(text: str) -> Provenance | None:
    """Read a provenance.json. Unknown keys are passed over, a value of a wrong type counts as absent.

    None when it is no JSON object, or does not say of which kind and source the build is.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    texts = {
        field.name: value
        for field in fields(Provenance)
        if field.name != "duration_s" and isinstance(value := found.get(field.name), str) and value
    }
    if "kind" not in texts or "source" not in texts:
        return None
    return Provenance(**texts, duration_s=_seconds(found.get("duration_s")))


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return None
    return float(value)
