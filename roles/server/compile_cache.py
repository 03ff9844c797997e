"""Whether a server that started ran graphs that were compiled for another drafter config."""

import re
from collections.abc import Sequence

# vLLM 0.20-0.33: decorators.py and backends.py. Its key leaves dflash_config.target_layer_ids out.
_LOADED = re.compile(r"Directly load AOT compilation from path (\S+)")
_FOLDER = re.compile(r"Using cache directory: (\S+) for vLLM's torch\.compile")
_GRAPHS = re.compile(r"Directly load the compiled graph")


def foreign_loads(lines: Sequence[str], own: str) -> tuple[str, ...]:
    """Paths outside `own` (the folder of this build with this config) that compiled graphs were loaded from."""
    found = [match[1] for line in lines if (match := _LOADED.search(line))]
    if any(_GRAPHS.search(line) for line in lines):
        found += [match[1] for line in lines if (match := _FOLDER.search(line))]
    return tuple(dict.fromkeys(path for path in found if not path.startswith(f"{own}/")))
