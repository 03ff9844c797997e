"""Taking a container away: only one of ours, and with what is in it."""

from collections.abc import Callable

from inventory.errors import NotFound, PreflightError, ProxmoxError
from inventory.pve.api import Proxmox
from roles.container import facts, properties, refusals
from roles.container.facts import ContainerFacts
from roles.container.patience import patiently
from roles.container.steps import Destroy
from roles.step import Step, nothing

_ROLE = "container"
_TIMEOUT_S = 600.0


def plan(name: str, have: ContainerFacts) -> Step:
    """The step that removes the container of the host `name`. Raises PreflightError for one that is not ours."""
    if have.missing:
        return nothing(_ROLE, f"container {have.ctid} is gone already")
    refusals.stop([finding for finding in refusals.foreign(name, have) if have.lock != "create"])
    if properties.is_on(have.config.get("protection")):
        raise PreflightError(
            f"container {have.ctid} is protected against removal",
            where=(_ROLE,),
            why=["Somebody switched its protection on; specrail never does. Nothing was changed."],
            tries=[f"pct set {have.ctid} --protection 0  # as root on the node, if it may really go"],
        )
    disks = [key for key in have.config if key == "rootfs" or _is_volume(key, have.config[key])]
    return Destroy(
        role=_ROLE,
        action="destroy",
        summary=f"destroy container {have.ctid} ({have.config.get('hostname', name)})",
        diff=tuple((key, have.config[key], None) for key in disks),
        note="what is on its disks is lost, snapshots too; folders of the node stay",
        ctid=have.ctid,
        running=have.running,
    )


def destroy(step: Destroy, pve: Proxmox, on_line: Callable[[str], None]) -> None:
    """Stop it and remove it from the node, its backup jobs and HA. One that is gone meanwhile is fine."""
    base = f"/nodes/{pve.node}/lxc/{step.ctid}"

    def gone() -> bool:
        return facts.read(pve, step.ctid).missing

    def stop() -> None:
        try:
            pve.wait(pve.post(f"{base}/status/stop"), on_line, _TIMEOUT_S)
        except ProxmoxError:
            if facts.read(pve, step.ctid).running:
                raise

    def remove() -> None:
        task = pve.delete(base, purge=True, already_done=gone)
        if task is not None:
            pve.wait(task, on_line, _TIMEOUT_S)

    try:
        if step.running:
            patiently(pve, stop, on_line)
        patiently(pve, remove, on_line)
    except NotFound:
        if not gone():
            raise


def _is_volume(key: str, value: str) -> bool:
    """Whether a mount point is a disk of the container's own, not a folder of the node."""
    return key.startswith("mp") and key[2:].isdigit() and not value.startswith("/")
