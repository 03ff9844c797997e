"""Releases and facts for tests, with only what a test is about spelled out."""

import json
from typing import Any

from roles.release.facts import Release, ReleaseFacts
from roles.release.manifest import Manifest


def manifest(release: str, **changes: Any) -> Manifest:
    """A manifest with a venv named after the release's last letter."""
    values: dict[str, Any] = {
        "id": release,
        "digest": release[-4:] * 16,
        "service": "vllm",
        "created_at": "2026-11-29T10:00:00+00:00",
        "created_by": "anna@desk",
        "engine": {"kind": "vllm", "source": "release:0.33.0", "venv": f"venv-{release[-1]}"},
        "model": {"path": "/m", "served_name": "qwen", "revision": None},
        "drafter": {"method": "dflash", "tokens": 5},
        "argv": ("vllm", "serve"),
        "environment": {},
    }
    return Manifest(**{**values, **changes})


def release(name: str, outcome: str | None = None, **changes: Any) -> Release:
    """A release; outcome None means that its gate has not run."""
    gate = json.dumps({"verdict": {"outcome": outcome}}) if outcome else None
    return Release(name, manifest(name, **changes), gate)


def facts(*releases: Release, **changes: Any) -> ReleaseFacts:
    """A quiet host with these releases."""
    values: dict[str, Any] = {
        "now": 1000,
        "boot_id": "b",
        "systemd": True,
        "current": None,
        "promoted": None,
        "pending": None,
        "releases": releases,
        "control_sha": None,
        "unit_sha": None,
        "env_sha": None,
        "server_running": False,
        "port_taken": False,
        "log_bytes": 0,
        "free_bytes": None,
        "lock": None,
    }
    return ReleaseFacts(**{**values, **changes})
