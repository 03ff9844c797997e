"""Whether the driver's userland in a container fits the kernel module of its node."""

import re
from collections.abc import Iterator

from roles.gpu.facts import GpuFacts
from roles.gpu.finding import Finding

_REFUSED = re.compile(r"Insufficient Permissions|GPU access blocked by the operating system", re.IGNORECASE)
_NO_LIBRARY = re.compile(r"libnvidia-ml|couldn't find libNVML|NVML_ERROR_LIBRARY_NOT_FOUND", re.IGNORECASE)
_MISMATCH = re.compile(r"version mismatch", re.IGNORECASE)
_LOST = re.compile(r"GPU is lost|fallen off the bus|requires reset|determine the device handle", re.IGNORECASE)


def driver_findings(have: GpuFacts, module: str) -> Iterator[Finding]:
    """What is wrong between the kernel module (its version) and a container's userland: the root cause only, once."""
    failure = have.smi_failure or ""
    if not have.smi_present or _NO_LIBRARY.search(failure):
        lacking = "libnvidia-ml" if have.smi_present else "nvidia-smi"
        yield Finding(
            "no-userland",
            "error",
            f"the container has no {lacking}: the driver's userland is missing",
            why=(f"Programs need the libraries of exactly the node's kernel module, {module}, to the patch level.",),
            tries=_bring_userland(module),
        )
    elif _MISMATCH.search(failure) or (have.userland and not any(_same(one, module) for one in have.userland)):
        yield Finding(
            "driver-mismatch",
            "error",
            f"the node's kernel module is {module}, the container's userland {_versions(have)}",
            why=(
                "Both must be equal to the patch level. It breaks when the node's driver is upgraded, and shows only",
                "when the container restarts.",
            ),
            tries=_bring_userland(module),
        )
    elif _REFUSED.search(failure):
        yield Finding(
            "access-refused",
            "error",
            f"the driver refuses the container: {_line(failure)}",
            why=(
                "Its device cgroup denies the nodes (major numbers changed at a boot) or their mode does. The texts",
                "'Insufficient Permissions' and 'GPU access blocked by the operating system' have this one cause.",
            ),
            tries=(
                "on the node: grep nvidia /proc/devices   and dev[n] entries instead of fixed majors",
                "container.gpus.mode: '0666'",
            ),
        )
    elif _LOST.search(failure):
        yield Finding(
            "gpu-lost",
            "error",
            f"a GPU is lost: {_line(failure)}",
            why=("It has fallen off the bus (power, heat, riser, a failed reset). No setting brings it back.",),
            tries=("on the node: dmesg | grep -i -e xid -e 'fallen off'", "restart the node"),
        )
    elif failure:
        yield Finding(
            "nvidia-smi-failed",
            "error",
            f"nvidia-smi fails in the container: {_line(failure)}",
            tries=("on the node: nvidia-smi", "in the container: nvidia-smi"),
        )


def _same(userland: str, module: str) -> bool:
    """Whether two versions are equal to the patch level; "570.148", which hides its patch level, may be."""
    mine, theirs = userland.split("."), module.split(".")
    known = min(len(mine), len(theirs))
    return mine[:known] == theirs[:known]


def _bring_userland(version: str) -> tuple[str, ...]:
    runfile = f"NVIDIA-Linux-x86_64-{version}.run"
    return (
        f"in the container: sh {runfile} --no-kernel-modules --no-questions --ui=none",
        f"https://download.nvidia.com/XFree86/Linux-x86_64/{version}/{runfile}",
    )


def _line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), text)


def _versions(have: GpuFacts) -> str:
    return " and ".join(have.userland) or "another one"
