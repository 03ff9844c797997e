"""The GPUs, as nvidia-smi tells of them; what is wrong with them ends the start in vLLM's words."""

import os
import subprocess
from dataclasses import dataclass

from vllm.files import ModelError
from vllm.log import API

_QUESTION = ("nvidia-smi", "--query-gpu=index,uuid,name,memory.total,memory.used", "--format=csv,noheader,nounits")
_GIB = 1024**3
_MIB = 1024**2


@dataclass(frozen=True)
class Gpu:
    """One GPU and its memory."""

    index: int
    uuid: str
    name: str
    total_bytes: int
    free_bytes: int


def visible() -> tuple[Gpu, ...]:
    """GPUs that this process may use, in the order of CUDA_VISIBLE_DEVICES. Raises ModelError when there are none."""
    try:
        asked = subprocess.run(_QUESTION, capture_output=True, text=True, timeout=30, check=False)
        said, failed = asked.stdout + asked.stderr, asked.returncode != 0
    except (OSError, subprocess.TimeoutExpired):
        said, failed = "", True
    if failed:
        if said.strip():
            API.raw(said.strip())  # NVML's own words: "Driver/library version mismatch", "couldn't communicate ..."
        raise ModelError(
            "RuntimeError",
            "Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG` to turn on "
            "verbose logging to help debug the issue.",
        )
    gpus = tuple(_gpu(line) for line in said.splitlines() if line.count(",") >= 4)
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        known = {**{str(gpu.index): gpu for gpu in gpus}, **{gpu.uuid: gpu for gpu in gpus}}
        gpus = tuple(known[word] for word in chosen.split(",") if word in known)
    if not gpus:
        raise ModelError("RuntimeError", "No CUDA GPUs are available")
    return gpus


def check_number(gpus: tuple[Gpu, ...], tensor_parallel: int) -> None:
    """Raise ModelError when there are fewer GPUs than ranks."""
    if len(gpus) < tensor_parallel:
        raise ModelError(
            "ValueError",
            f"World size ({tensor_parallel}) is larger than the number of available GPUs ({len(gpus)}) in this node. "
            "If this is intentional and you are using:\n- ray, set '--distributed-executor-backend ray'.\n"
            "- multiprocessing, set '--nnodes' appropriately.",
        )


def check_free(gpu: Gpu, device: int, utilization: float) -> None:
    """Raise ModelError when others hold so much memory that the wanted fraction of it is not free."""
    wanted = gpu.total_bytes * utilization
    if gpu.free_bytes < wanted:
        raise ModelError(
            "ValueError",
            f"Free memory on device cuda:{device} ({gib(gpu.free_bytes)}/{gib(gpu.total_bytes)} GiB) on startup is less "
            f"than desired GPU memory utilization ({utilization}, {gib(wanted)} GiB). Decrease GPU memory utilization "
            "or reduce GPU memory used by other processes.",
        )


def gib(size_bytes: float) -> str:
    """Return the size in GiB with up to two digits, as vLLM prints it."""
    return str(round(size_bytes / _GIB, 2))


def _gpu(line: str) -> Gpu:
    index, uuid, name, total, used = (word.strip() for word in line.split(",")[:5])
    total_bytes = int(total) * _MIB
    return Gpu(int(index), uuid, name, total_bytes, total_bytes - int(used) * _MIB)
