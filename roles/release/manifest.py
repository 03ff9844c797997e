"""What a release is made of, as its manifest.json says it."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime

SCHEMA = 1

RELEASE_ID = re.compile(r"^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-[0-9a-f]{4,8}$")


@dataclass(frozen=True)
class Manifest:
    """A release, written once beside its files and never changed.

    id:          "2026-11-29T12-25-53Z-7f3a": when it was made (UTC) and the first digits of its digest
    digest:      SHA-256 over all that decides what runs: two releases with equal digests run the same thing
    engine:      kind, source, commit or version, venv
    model:       path, served name, revision of the target
    drafter:     method, tokens (k), config SHA-256, path, revision, tokens_by_batch_size where it has such a table;
                 None without speculation
    argv:        the serve command, with RELEASE for the release's own folder
    environment: names and values of what is not secret; names alone of what is
    """

    id: str
    digest: str
    service: str
    created_at: str
    created_by: str
    engine: Mapping[str, str | None]
    model: Mapping[str, str | None]
    drafter: Mapping[str, str | int | None] | None
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    secret_names: tuple[str, ...] = ()
    port: int = 8000
    forced: tuple[str, ...] = field(default=())
    schema: int = SCHEMA

    @property
    def tokens(self) -> int | None:
        """Speculative tokens per round; None without speculation."""
        tokens = (self.drafter or {}).get("tokens")
        return int(tokens) if tokens is not None else None

    @property
    def varies(self) -> bool:
        """Whether the tokens per round depend on the batch size; `tokens` is the most then."""
        return "tokens_by_batch_size" in (self.drafter or {})

    @property
    def venv(self) -> str | None:
        """Folder name of the engine's venv."""
        return self.engine.get("venv")

    def to_json(self) -> str:
        """The text of manifest.json."""
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Manifest | None":
        """Read a manifest; None when it is not one that this version understands."""
        try:
            raw = json.loads(text)
            if raw.get("schema") != SCHEMA:
                return None
            raw["argv"] = tuple(raw["argv"])
            raw["secret_names"] = tuple(raw["secret_names"])
            raw["forced"] = tuple(raw["forced"])
            return cls(**raw)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def digest(content: Mapping[str, object]) -> str:
    """SHA-256 (hex) of the canonical JSON of what decides a release."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def release_id(made_at: datetime, digest_hex: str) -> str:
    """A release's name: sorts by time, and two made in one second differ by content."""
    return f"{made_at:%Y-%m-%dT%H-%M-%SZ}-{digest_hex[:4]}"
