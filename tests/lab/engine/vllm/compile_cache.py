"""The cache of compiled graphs, with the gap of the real one: a DFlash drafter's target_layer_ids are not in its key.

So a restart with other layer ids silently runs the graph with the old ones (seen with vLLM 0.20-0.32).
"""

import json
import os
from hashlib import sha256
from pathlib import Path


def root() -> Path:
    """Return the folder of vLLM's caches."""
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(os.environ.get("VLLM_CACHE_ROOT") or Path(home) / "vllm").expanduser() / "torch_compile_cache"


class Entry:
    """The compiled graph of one configuration: it holds the auxiliary layers that were current when it was made."""

    def __init__(self, *key: object) -> None:
        digest = sha256(json.dumps(key).encode()).hexdigest()
        self.folder = root() / digest[:10]
        self.path = root() / "torch_aot_compile" / digest / "rank_0_0" / "model"
        self._used = os.environ.get("VLLM_DISABLE_COMPILE_CACHE", "0") in ("", "0")

    def load(self) -> tuple[int, ...] | None:
        """Return the layers of the cached graph; None where there is none."""
        try:
            return tuple(json.loads(self.path.read_text())["aux_layers"]) if self._used else None
        except (FileNotFoundError, ValueError):  # none, or one whose writer was killed
            return None

    def save(self, aux_layers: tuple[int, ...]) -> bool:
        """Keep a graph that was just compiled. Returns whether it was kept."""
        if not self._used:
            return False
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"aux_layers": aux_layers}))
        return True
