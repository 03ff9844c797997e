"""Whether a container's GPUs are as the engine needs them: driver, device nodes, userland, count, memory."""

from collections.abc import Iterator

from inventory.models import Gpus
from roles.gpu.facts import GpuFacts
from roles.gpu.finding import Finding
from roles.gpu.userland import driver_findings

IDLE_MIB = 600
"""Memory that a GPU nobody computes on may show as used (the driver's own, a display)."""

DEFAULT_SHARE = 0.9
"""What vLLM takes of a GPU when nobody says how much (gpu_memory_utilization)."""


def check(
    want: Gpus,
    have: GpuFacts,
    host_driver: str | None,
    tensor_parallel: int,
    *,
    memory_utilization: float | None = None,
    serving: bool = False,
) -> tuple[Finding, ...]:
    """What is wrong with the GPUs of one container. No GPUs wanted: nothing to check.

    have:               facts read inside the container
    host_driver:        version of the node's kernel module, where the node was asked; a container's /proc shows it too
    memory_utilization: the share of a GPU that the engine will take (None: the engine's default)
    serving:            our own server runs on these GPUs now, so memory in use is not somebody else's
    """
    if not want.indices:
        return ()
    findings = list(_too_few_wanted(want, tensor_parallel))
    module = have.kernel_module or host_driver
    if module is None:
        return (*findings, _no_module(inside=True))
    findings += _devices(want, have)
    userland = list(driver_findings(have, module))
    findings += userland
    if not userland and have.smi_present:
        findings += _count(want, have, tensor_parallel)
        if not serving:
            share = DEFAULT_SHARE if memory_utilization is None else memory_utilization
            findings += _memory(have, share, tensor_parallel)
    return tuple(findings)


def check_node(want: Gpus, node: GpuFacts) -> tuple[Finding, ...]:
    """What is wrong on the Proxmox node itself, asked before there is a container. Nothing wanted: nothing to check."""
    if not want.indices:
        return ()
    if node.kernel_module is None:
        return (_no_module(inside=False),)
    missing = [name for name in want.devices if name not in node.devices]
    if not missing:
        return ()
    return (
        Finding(
            "node-devices",
            "error",
            f"the node has no {_dev(missing)}",
            why=("A loaded module alone creates no nodes; a container that asks for a missing one does not start.",),
            tries=("on the node: nvidia-modprobe -c0 -u -m && nvidia-smi -L", "nvidia-smi -L   (is the GPU listed?)"),
        ),
    )


def _too_few_wanted(want: Gpus, tensor_parallel: int) -> Iterator[Finding]:
    if tensor_parallel > len(want.indices):
        yield Finding(
            "tensor-parallel",
            "error",
            f"tensor_parallel {tensor_parallel} needs {tensor_parallel} GPUs, the inventory gives {len(want.indices)}",
            tries=(
                f"server.tensor_parallel: {len(want.indices)}",
                "container.gpus.indices: one index for each GPU that the engine shall use",
            ),
        )


def _no_module(*, inside: bool) -> Finding:
    seen = "the container's /proc shows no NVIDIA kernel module" if inside else "no NVIDIA kernel module is loaded"
    return Finding(
        "kernel-module",
        "error",
        seen,
        why=("The module belongs to the node; a new kernel without its headers leaves DKMS modules unbuilt.",),
        tries=(
            "on the node: modprobe nvidia nvidia-uvm && nvidia-smi -L",
            "on the node: apt install proxmox-default-headers && dkms autoinstall",
        ),
    )


def _devices(want: Gpus, have: GpuFacts) -> Iterator[Finding]:
    missing = [name for name in want.devices if name not in have.devices]
    uvm = [name for name in missing if name.startswith("nvidia-uvm")]
    other = [name for name in missing if name not in uvm]
    if uvm:
        yield Finding(
            "nvidia-uvm",
            "error",
            f"the container has no {_dev(uvm)}",
            why=("nvidia-smi works without it, CUDA does not (error 999, torch.cuda.is_available() is False).",),
            tries=(
                "on the node: nvidia-modprobe -c0 -u   and then deploy again, which attaches it",
                "on the node, for every boot: a unit before pve-guests.service that runs nvidia-modprobe -c0 -u -m",
            ),
        )
    if other:
        yield Finding(
            "device-missing",
            "error",
            f"the container has no {_dev(other)}",
            why=("A GPU without its node is invisible to everything in the container.",),
            tries=("deploy again: devices are attached through the node's root shell", "on the node: nvidia-smi -L"),
        )
    shut = [name for name in want.devices if have.devices.get(name) is False]
    if shut:
        yield Finding(
            "device-shut",
            "error",
            f"{_dev(shut)} cannot be opened in the container",
            why=(
                "Either the node's mode shuts the container's users out, or its device cgroup names a major number",
                "that was another one at this boot (those of nvidia-uvm and nvidia-caps are dynamic).",
            ),
            tries=("container.gpus.mode: '0666'", "dev[n] entries instead of lxc.cgroup2.devices.allow lines"),
        )
    yield from _caps(have)


def _caps(have: GpuFacts) -> Iterator[Finding]:
    caps = {name: opened for name, opened in have.devices.items() if name.startswith("nvidia-caps/")}
    if have.mig_instances and not any(caps.values()):
        yield Finding(
            "nvidia-caps",
            "error",
            f"the GPU is cut into {have.mig_instances} MIG instances and the container can open none of them",
            why=(
                "Each instance is guarded by a node of its own, /dev/nvidia-caps/nvidia-capN, made with mode 0400;",
                "/dev/nvidia-caps is a folder and cannot be attached as a whole.",
            ),
            tries=(
                "on the node: grep Minor /proc/driver/nvidia/capabilities/gpu*/mig/gi*/access",
                "on the node: pct set CTID -devN /dev/nvidia-caps/nvidia-capM,mode=0444   (M: that minor)",
                "on the node, to use the GPU whole: nvidia-smi -i INDEX -mig 0",
            ),
        )


def _count(want: Gpus, have: GpuFacts, tensor_parallel: int) -> Iterator[Finding]:
    there = len(have.gpus)
    if there < len(want.indices):
        listed = ", ".join(f"{gpu.index} {gpu.name}" for gpu in have.gpus) or "none"
        short = f", fewer than tensor_parallel {tensor_parallel}" if there < tensor_parallel else ""
        yield Finding(
            "gpu-count",
            "error",
            f"{len(want.indices)} GPUs are wanted, the container sees {there}{short}",
            why=(
                f"nvidia-smi lists: {listed}.",
                "One that fell off the bus is missing here although its node is there.",
            ),
            tries=("on the node: nvidia-smi -L", "on the node: dmesg | grep -i xid"),
        )


def _memory(have: GpuFacts, utilization: float, tensor_parallel: int) -> Iterator[Finding]:
    for gpu in have.gpus[:tensor_parallel]:
        if not gpu.memory_total_mib or gpu.memory_used_mib is None or gpu.memory_used_mib <= IDLE_MIB:
            continue
        free = gpu.memory_total_mib - gpu.memory_used_mib
        needed = int(gpu.memory_total_mib * utilization)
        short = free < needed
        yield Finding(
            "memory-held",
            "error" if short else "warning",
            f"GPU {gpu.index}: somebody else holds {gpu.memory_used_mib} MiB of {gpu.memory_total_mib} MiB",
            why=(
                f"The engine takes {utilization:.0%} of the GPU ({needed} MiB); {free} MiB are free.",
                "A container does not see the processes of others: only the node can tell who it is.",
            ),
            tries=(
                f"on the node: nvidia-smi -i {gpu.uuid}   and cat /proc/PID/cgroup (lxc/CTID) for each PID",
                *_smaller_share(free, gpu.memory_total_mib),
            ),
        )


def _smaller_share(free_mib: int, total_mib: int) -> tuple[str, ...]:
    """The setting with which the engine fits beside what is there; none where hardly anything is free."""
    share = (free_mib - 512) / total_mib
    return (f"server.gpu_memory_utilization: {share:.2f}",) if share >= 0.1 else ()


def _dev(names: list[str]) -> str:
    return ", ".join(f"/dev/{name}" for name in names)
