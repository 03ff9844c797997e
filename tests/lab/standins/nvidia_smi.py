"""nvidia-smi for a machine of the lab: NAME FOLDER ARGUMENTS..., reading the lab's gpu.json and the machine's /dev."""

import http.client
import itertools
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LOST = "Unable to determine the device handle for GPU{bus}: GPU is lost.  Reboot the system to recover this GPU"
_NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)
_RUNNING = re.compile(r"^vllm:num_requests_running\{[^}]*\} [1-9]", re.MULTILINE)
_UNITS = {
    "memory.total": "MiB",
    "memory.used": "MiB",
    "memory.free": "MiB",
    "utilization.gpu": "%",
    "power.draw": "W",
    "power.limit": "W",
    "clocks.sm": "MHz",
    "clocks.max.sm": "MHz",
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
    engines = list(_engines(folder))
    served = {index for _, indices in engines for index in indices}
    working = {index for port, indices in engines if _is_asked(port) for index in indices}
    rows = []
    for shown, gpu in enumerate(gpus):  # NVML counts what it sees: a container's GPU 0 may be the node's GPU 2
        held = int(state["held_mib"].get(str(gpu["index"]), 0))
        used = min(gpu["memory_mib"], 1 + held + (gpu["memory_mib"] * 9 // 10 if gpu["index"] in served else 0))
        busy = max(int(state["busy"].get(str(gpu["index"]), 0)), 97 * (gpu["index"] in working))
        rows.append(_fields(shown, gpu, state["driver"], used, busy, state["slowed"].get(str(gpu["index"]), "0x0")))
    return _print(argv, rows)


def _fields(shown: int, gpu: dict[str, Any], driver: str, used: int, busy: int, slowed: str) -> dict[str, str]:
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
        "utilization.gpu": str(busy),
        "temperature.gpu": "68" if busy else "31",
        "clocks_throttle_reasons.active": f"0x{int(slowed, 16):016x}",
        "clocks_event_reasons.active": f"0x{int(slowed, 16):016x}",
        "clocks.sm": "1200" if int(slowed, 16) else "1740",
        "clocks.max.sm": "1740",
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


def _engines(folder: str) -> Iterator[tuple[str, list[int]]]:
    """Port of each engine of the lab, and the node's GPUs that it runs on: the first N of its container's.

    N is its tensor parallel size.
    """
    asking = _ancestors()  # an engine that asks how much is free does not hold anything yet
    for entry in Path("/proc").iterdir():
        try:
            if (
                not entry.name.isdigit()
                or entry.name in asking
                or "serve" not in (argv := (entry / "cmdline").read_text().split("\0"))
                or "bench" in argv
            ):
                continue
            environment = dict(word.partition("=")[::2] for word in (entry / "environ").read_text().split("\0"))
        except (OSError, UnicodeDecodeError):
            continue
        if environment.get("SPECRAIL_LAB") == folder and (ctid := environment.get("SPECRAIL_LAB_CT")):
            values = dict(itertools.pairwise(argv))
            parallel = values.get("--tensor-parallel-size") or values.get("-tp") or "1"
            mine = sorted(int(node[6:]) for node in _devices(folder, f"ct{ctid}") if node[6:].isdigit())
            yield values.get("--port", "8000"), mine[: int(parallel)]


def _is_asked(port: str) -> bool:
    """Whether an engine has requests to work on, by its own counters."""
    line = http.client.HTTPConnection("127.0.0.1", int(port), timeout=2)
    try:
        line.request("GET", "/metrics")
        return bool(_RUNNING.search(line.getresponse().read().decode()))
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()


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
