"""A drafter's config.json as a value: merged, written, hashed and compared without losing a key."""

import hashlib
import json
from collections.abc import Iterator, Mapping

Row = tuple[str, str | None, str | None]
"""A difference: dotted key, value before, value after, both as JSON; absent is None."""


def merge(base: Mapping[str, object], overlay: Mapping[str, object]) -> dict[str, object]:
    """`overlay` over `base`: objects are merged key by key, everything else (lists too) is replaced whole."""
    merged = dict(base)
    for key, value in overlay.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def text(config: Mapping[str, object]) -> str:
    """The file's content: equal configs give equal text, and reading it gives every key back, unknown ones too."""
    return json.dumps(config, indent=2, sort_keys=True) + "\n"


def sha256(config: Mapping[str, object]) -> str:
    """Digest of the canonical text, 64 hex digits."""
    return hashlib.sha256(text(config).encode()).hexdigest()


def diff(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[Row, ...]:
    """What changes between two configs, by dotted key, in the order of the keys."""
    return tuple(_rows(before, after, ""))


def _rows(before: Mapping[str, object], after: Mapping[str, object], prefix: str) -> Iterator[Row]:
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _rows(old, new, f"{prefix}{key}.")
        elif key not in before or key not in after or _json(old) != _json(new):
            yield (
                f"{prefix}{key}",
                _json(old) if key in before else None,
                _json(new) if key in after else None,
            )


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)
