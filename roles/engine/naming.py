"""How the folder of a build is called: equal names mean equal inputs, so a venv is built once and never changed."""

import hashlib
import json
import re

from inventory.models import Engine
from roles.engine.resolve import Resolution

RECIPE = 1
"""Counts up when the build script comes to make something else of the same inputs."""


_OPTIONAL = ("find_links", "distribution", "packages", "overrides", "env")


def venv_name(engine: Engine, resolution: Resolution) -> str:
    """`vllm-<commit's first 12 digits, or version>-<8 digits of a hash over all inputs of the build>`."""
    inputs = {
        "recipe": RECIPE,
        "kind": engine.kind,
        "source": engine.source,
        "repository": engine.repository if resolution.source.from_git else None,
        "commit": resolution.commit,
        "python": engine.python,
        "build": engine.build,
        "torch_backend": engine.torch_backend,
        "index_url": engine.index_url,
        # Only where they are given, so that builds from before there were such keys keep their names.
        **{key: value for key in _OPTIONAL if (value := getattr(engine, key))},
    }
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    return f"{engine.kind}-{re.sub(r'[^A-Za-z0-9.+_]', '_', resolution.label)}-{digest[:8]}"
