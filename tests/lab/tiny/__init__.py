"""A real model and a real drafter, small enough for a repository and for two CPU cores."""

import shutil
from pathlib import Path

TARGET, DRAFTER = "tiny-target", "tiny-dflash"
MASK = 3
"""The drafter's mask token."""
TOKENS = 7
"""The most that the drafter was trained to draft (block_size - 1)."""

NO_SUCH_LAYER, USED_MASK = "tests/lab/tiny/no-such-layer.json", "tests/lab/tiny/used-mask.json"
"""Laid over the drafter's config, in the checkout: a layer that the target lacks; a mask token that it uses itself."""

_HERE = Path(__file__).parent


def put(folder: Path) -> None:
    """Copy both below `folder`, which may have others; what is there of the same names is replaced."""
    for name in (TARGET, DRAFTER):
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(_HERE / name, folder / name)
