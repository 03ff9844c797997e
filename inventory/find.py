"""Which inventory file a command works with."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from inventory.errors import UsageError

VARIABLE = "SPECRAIL_INVENTORY"
OWN = Path("inventory", "hosts.yml")
LAB = Path(".lab", "hosts.yml")


@dataclass(frozen=True)
class Found:
    """An inventory file that is there. is_lab: it is the practice ground's, and every command says so."""

    path: Path
    is_lab: bool


def find(explicit: str | None, checkout: Path, environ: Mapping[str, str] = os.environ) -> Found:
    """The first of: `explicit` (--inventory), $SPECRAIL_INVENTORY, inventory/hosts.yml, the lab's .lab/hosts.yml.

    The last two are below `checkout`. What was asked for by name and is not there is an error, not passed over.
    Raises UsageError.
    """
    for asked, by in ((explicit, "--inventory"), (environ.get(VARIABLE), VARIABLE)):
        if not asked:
            continue
        path = Path(asked)
        if path.is_file():
            return Found(path, is_lab=path.resolve() == (checkout / LAB).resolve())
        what = (
            f"{by} names {asked}, which is not a file" if path.exists() else f"{by} names {asked}, which is not there"
        )
        raise UsageError(
            what, tries=[f"invoke inventory.check --inventory {OWN}", f"cp -n inventory/example.yml {OWN}"]
        )
    for below in (OWN, LAB):
        if (checkout / below).is_file():
            return Found(checkout / below, is_lab=below == LAB)
    raise UsageError(
        "there is no inventory yet",
        why=[f"neither {OWN} nor the lab's {LAB} is in {checkout}"],
        tries=["invoke lab.up   (a practice ground on this machine)", f"cp inventory/example.yml {OWN}   (your own)"],
    )
