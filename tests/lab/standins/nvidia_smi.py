"""nvidia-smi for a machine of the lab: NAME FOLDER ARGUMENTS..., reading the lab's gpu.json and the machine's /dev."""

import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

_LOST = "Unable to determine the device handle for GPU{bus}: GPU is lost.  Reboot the system to recover this GPU"
_NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)
_UNITS = {
    "memory.total": "MiB",
    "memory.used": "MiB",
    "memory.free": "MiB",
    "utilization.gpu": "%",
    "power.draw": "W",
    "power.limit": "W",
}


def answer(name: str, folder: str, argv: list[str]) -> tuple[int, str]:
    """Exit status and standard output."""
    state = json.loads(Path(folder, "gpu.json").read_text(encoding="utf-8"))
    present = _devices(folder, name)
    if "nvidiactl" not in present:
        return 9, _NO_DRIVER
    userland = state["userland"].get(name, state["driver"])
    if userland != state["driver"]:
        short = ".".join(userland.split(".")[:2])
        return 18, f"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: {short}\n"
    gpus = [gpu for gpu in state["gpus"] if f"nvidia{gpu['index']}" in present]
    if not gpus:
        return 6, "No devices were found\n"
    for gpu in gpus:
        if gpu["index"] in state["lost"]:
            return 15, _LOST.format(bus=gpu["bus"]) + "\n"
    served = _served(folder)
    rows = []
    for shown, gpu in enumerate(gpus):  # NVML counts what it sees: a container's GPU 0 may be the node's GPU 2
        held = int(state["held_mib"].get(str(gpu["index"]), 0))
        used = min(gpu["memory_mib"], 1 + held + (gpu["memory_mib"] * 9 // 10 if gpu["index"] in served else 0))
        rows.append(_fields(shown, gpu, state["driver"], used, busy=gpu["index"] in served))
    return _print(argv, rows)


def _fields(shown: int, gpu: dict[str, Any], driver: str, used: int, *, busy: bool) -> dict[str, str]:
    return {
        "index": str(shown),
        "uuid": gpu["uuid"],
        "gpu_uuid": gpu["uuid"],
        "name": gpu["name"],
        "gpu_name": gpu["name"],
        "pci.bus_id": gpu["bus"],
        "driver_version": driver,
        "memory.total": str(gpu["memory_mib"]),
        "memory.used": str(used),
        "memory.free": str(gpu["memory_mib"] - used),
        "utilization.gpu": "97" if busy else "0",
        "temperature.gpu": "68" if busy else "31",
        "clocks_throttle_reasons.active": "0x0000000000000000",
        "clocks_event_reasons.active": "0x0000000000000000",
        "power.draw": "284.31" if busy else "21.54",
        "power.limit": "300.00",
        "compute_cap": "8.6",
        "mig.mode.current": "[N/A]",
    }


def _print(argv: list[str], rows: list[dict[str, str]]) -> tuple[int, str]:
    if not argv:
        return 0, _table(rows)
    if argv == ["-L"]:
        return 0, "".join(f"GPU {row['index']}: {row['name']} (UUID: {row['uuid']})\n" for row in rows)
    query = next((word.partition("=")[2] for word in argv if word.startswith("--query-gpu=")), None)
    form = next((word.partition("=")[2] for word in argv if word.startswith("--format=")), "").split(",")
    if any(word.startswith("--query-compute-apps=") for word in argv):
        return 0, ""  # a container cannot see who they are
    if query is None:
        return 2, f"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help. ({argv[0]})\n"
    names = query.split(",")
    for word in names:
        if word not in rows[0]:
            return 2, f'Field "{word}" is not a valid field to query.\n\n'
    units = {} if "nounits" in form else _UNITS
    lines = [] if "noheader" in form else [", ".join(_heading(word, units) for word in names)]
    lines += [", ".join(f"{row[word]} {units[word]}" if word in units else row[word] for word in names) for row in rows]
    return 0, "".join(line + "\n" for line in lines)


def _heading(word: str, units: dict[str, str]) -> str:
    return f"{word} [{units[word]}]" if word in units else word


def _table(rows: list[dict[str, str]]) -> str:
    rule = "+-----------------------------------------------------------------------------------------+\n"
    text = (
        rule + f"| NVIDIA-SMI {rows[0]['driver_version']:<22} Driver Version: {rows[0]['driver_version']:<37}|\n" + rule
    )
    for row in rows:
        memory = f"{row['memory.used']}MiB / {row['memory.total']}MiB"
        text += f"| {row['index']:>3}  {row['name']:<28}{row['temperature.gpu']:>4}C {memory:>24}"
        text += f" {row['utilization.gpu']:>10}% Default    |\n"
    return text + rule


def _served(folder: str) -> set[int]:
    """The node's indices of GPUs that an engine of the lab runs on: the first N of its container's, N its tensor parallel."""
    taken: set[int] = set()
    asking = _ancestors()  # an engine that asks how much is free does not hold anything yet
    for entry in Path("/proc").iterdir():
        try:
            if (
                not entry.name.isdigit()
                or entry.name in asking
                or "serve" not in (argv := (entry / "cmdline").read_text().split("\0"))
            ):
                continue
            environment = dict(word.partition("=")[::2] for word in (entry / "environ").read_text().split("\0"))
        except (OSError, UnicodeDecodeError):
            continue
        if environment.get("SPECRAIL_LAB") == folder and (ctid := environment.get("SPECRAIL_LAB_CT")):
            pairs = itertools.pairwise(argv)
            parallel = next((value for word, value in pairs if word in ("--tensor-parallel-size", "-tp")), "1")
            mine = sorted(int(node[6:]) for node in _devices(folder, f"ct{ctid}") if node[6:].isdigit())
            taken |= set(mine[: int(parallel)])
    return taken


def _ancestors() -> set[str]:
    pids: set[str] = set()
    pid = str(os.getpid())
    while pid not in {"0", *pids}:
        pids.add(pid)
        status = Path("/proc", pid, "status").read_text()
        pid = next(line.split()[1] for line in status.splitlines() if line.startswith("PPid:"))
    return pids


def _devices(folder: str, name: str) -> set[str]:
    return {node.name for node in Path(folder, name, "dev").iterdir()}


if __name__ == "__main__":
    status, text = answer(sys.argv[1], sys.argv[2], sys.argv[3:])
    sys.stdout.write(text)
    sys.exit(status)
