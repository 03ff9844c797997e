"""Carrying out a container's plan: the API for what a token may do, the node's root shell for the rest.

Every step is safe to repeat: what was done already is recognised, and a task that outlived its caller is waited for.
"""

from collections.abc import Callable, Iterable, Mapping

from pydantic import JsonValue

from inventory.errors import (
    AlreadyExists,
    BadParameter,
    ConfigChanged,
    DeadlineExceeded,
    ProxmoxError,
)
from inventory.pve.api import Proxmox
from inventory.pve.errors import Answer, Asked, classify
from inventory.shell import Shell, command
from roles.container import facts, properties, words
from roles.container.patience import patiently
from roles.container.steps import Attach, ContainerStep, Create, Resize, Restart, Start, Update
from roles.step import Step

Told = Callable[[str], None]

_CREATE_TIMEOUT_S = 1800.0
_TASK_TIMEOUT_S = 600.0
_SHELL_TIMEOUT_S = 60.0
_RUNS_WITHIN_S = 120.0
_POLL_S = 1.0

_NOT_COMPARED = frozenset({"parent"})
"""Keys that a snapshot changes."""


def apply(steps: Iterable[Step], pve: Proxmox, node: Shell, on_line: Told) -> tuple[str, ...]:
    """Carry out the steps of roles.container.plan, in order. Returns the tasks' warnings.

    on_line gets what happens, line by line: the tasks' logs and what is waited for.
    Raises what Proxmox raises (TaskFailed with the end of the log, PermissionDenied ...), ConfigChanged when somebody
    changed the container after it was planned, and what the node's shell raises.
    """
    return tuple(warning for step in steps for warning in _carry_out(step, pve, node, on_line))


def _carry_out(step: Step, pve: Proxmox, node: Shell, on_line: Told) -> Iterable[str]:
    match step:
        case Create():
            return _create(step, pve, on_line)
        case Update():
            patiently(pve, lambda: _update(step, pve), on_line)
        case Resize():
            return patiently(pve, lambda: _resize(step, pve, on_line), on_line)
        case Attach():
            patiently(pve, lambda: _attach(step, pve, node), on_line)
        case Start():
            return patiently(pve, lambda: _start(step, pve, on_line), on_line)
        case Restart():
            return patiently(pve, lambda: _power(step, "reboot", pve, on_line), on_line)
        case _ if step.changes:
            raise TypeError(f"not a step of a container: {step}")
    return ()


def _create(step: Create, pve: Proxmox, on_line: Told) -> Iterable[str]:
    task: JsonValue = step.task
    if task is None:
        try:
            task = pve.post(
                f"/nodes/{pve.node}/lxc", step.fields, already_done=lambda: not facts.read(pve, step.ctid).missing
            )
        except AlreadyExists:
            have = facts.read(pve, step.ctid)
            if not have.ours and have.creating is None:
                raise
            task = have.creating
        if task is None:  # it was carried out although nobody told us, or somebody of ours was faster
            task = facts.read(pve, step.ctid).creating
    warnings = _followed(task, pve, on_line, _CREATE_TIMEOUT_S)
    have = facts.read(pve, step.ctid)
    if not have.ours:
        raise ProxmoxError(
            f"container {step.ctid} is {'not there' if have.missing else 'not ours'} after its create task ended",
            where=(pve.node, "container"),
            why=["Somebody else works on the same id."],
            tries=[command("pvesh", "get", f"/nodes/{pve.node}/tasks", "--vmid", str(step.ctid))],
        )
    return warnings


def _update(step: Update, pve: Proxmox) -> None:
    path = f"/nodes/{pve.node}/lxc/{step.ctid}/config"
    fields = {**step.fields, "delete": ",".join(step.delete) or None}
    try:
        pve.put(path, {**fields, "digest": step.digest}, already_done=lambda: _is_so(step, pve))
    except ConfigChanged:
        # A lock that came or went, or a snapshot, changes the digest but nothing that was planned on.
        now = facts.read(pve, step.ctid)
        if _without_noise(now.config) != _without_noise(step.seen):
            raise
        pve.put(path, {**fields, "digest": now.digest}, already_done=lambda: _is_so(step, pve))


def _is_so(step: Update, pve: Proxmox) -> bool:
    """Whether an update was carried out already."""
    now = facts.read(pve, step.ctid).next_config
    return all(words.means(key, now.get(key), str(value)) for key, value in step.fields.items()) and not any(
        key in now for key in step.delete
    )


def _without_noise(config: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in config.items() if key not in _NOT_COMPARED}


def _resize(step: Resize, pve: Proxmox, on_line: Told) -> Iterable[str]:
    def done() -> bool:
        disk = properties.parse(facts.read(pve, step.ctid).config.get(step.disk, ""), "volume")
        return (properties.size_bytes(disk.get("size", "")) or 0) >= step.size_gib * properties.GIB

    try:
        task = pve.put(
            f"/nodes/{pve.node}/lxc/{step.ctid}/resize", disk=step.disk, size=f"{step.size_gib}G", already_done=done
        )
    except BadParameter:
        if not done():
            raise
        return ()
    return _followed(task, pve, on_line, _TASK_TIMEOUT_S)


def _attach(step: Attach, pve: Proxmox, node: Shell) -> None:
    result = node.run(command(*step.argv), timeout_s=_SHELL_TIMEOUT_S, check=False)
    if not result.ok:
        said = (result.stderr or result.stdout).strip()
        asked = Asked(pve.node, "root@pam", "pct set", step.ctid)
        error = classify(Answer(None, said or f"pct ended with status {result.exit_status}"), asked)
        error.why = (*error.why, f"It was: {command(*step.argv)}")
        raise error


def _start(step: Start, pve: Proxmox, on_line: Told) -> Iterable[str]:
    try:
        return _power(step, "start", pve, on_line)
    except ProxmoxError:
        if not facts.read(pve, step.ctid).running:
            raise
        return ()  # somebody was faster


def _power(step: ContainerStep, verb: str, pve: Proxmox, on_line: Told) -> Iterable[str]:
    """Start or reboot, and wait until it runs (the task of an HA-managed container ends before that)."""
    task = pve.post(f"/nodes/{pve.node}/lxc/{step.ctid}/status/{verb}")
    warnings = _followed(task, pve, on_line, _TASK_TIMEOUT_S)
    began = pve.clock()
    while pve.get_map(f"/nodes/{pve.node}/lxc/{step.ctid}/status/current").get("status") != "running":
        if pve.clock() - began > _RUNS_WITHIN_S:
            raise DeadlineExceeded(
                f"container {step.ctid} does not run {_RUNS_WITHIN_S:g} s after its {verb} task ended",
                where=(pve.node, "container"),
                why=["If it is managed by HA, its manager decides when and where it starts."],
                tries=["ha-manager status  # as root on the node", f"pct status {step.ctid}"],
            )
        pve.sleep(_POLL_S)
    return warnings


def _followed(task: JsonValue, pve: Proxmox, on_line: Told, timeout_s: float) -> tuple[str, ...]:
    """Wait for a task; None is one that was recognised as done."""
    return () if task is None else pve.wait(task, on_line, timeout_s).warnings
