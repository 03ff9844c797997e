"""Making a practice ground's inventory that of a real engine."""

from pathlib import Path

from tests.lab import tiny
from tests.lab.ground import Lab
from tests.lab.hosts import change
from tests.lab.layout import MODELS
from tests.lab.real import wanted, wheelhouse


def settle(lab: Lab, *, lxc: bool) -> None:
    """Put the models on the node, and with lxc the engine's wheels, which are downloaded; then rewrite hosts.yml.

    Raises SpecrailError when they cannot be had.
    """
    tiny.put(lab.layout.node / MODELS.lstrip("/"))
    models = Path("/mnt/models") if lxc else lab.layout.container(129) / "mnt/models"
    changes = {**wanted.host(models)}
    if lxc:
        wheelhouse.fill(lab.layout.node / wanted.NODE_WHEELS.lstrip("/"))
        changes |= wanted.isolated()
    change(lab.inventory, changes, lab.inventory)
