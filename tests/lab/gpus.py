"""The node's GPUs and driver as the lab plays them: one JSON file that the stand-in nvidia-smi reads."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

_DRIVER = "580.95.05"
_GPUS = (
    ("NVIDIA RTX A6000", 49140, "GPU-5f8c1e2a-7d40-4b6e-9a13-0c2d4e6f8a10", "00000000:41:00.0"),
    ("NVIDIA RTX A6000", 49140, "GPU-91b7d3c4-2e58-4f0a-8b6c-1d3f5a7b9c21", "00000000:61:00.0"),
    ("NVIDIA A40", 46068, "GPU-c3a9f5e6-4b72-4d1c-a08e-2e4a6c8d0f32", "00000000:81:00.0"),
)
_DEFAULT: dict[str, Any] = {
    "driver": _DRIVER,
    "gpus": [
        {"index": index, "name": name, "memory_mib": memory, "uuid": uuid, "bus": bus}
        for index, (name, memory, uuid, bus) in enumerate(_GPUS)
    ],
    "userland": {},
    "lost": [],
    "held_mib": {},
    "busy": {},
    "slowed": {},
}


class Gpus:
    """The state, kept in a file for the stand-ins.

    driver:   version of the node's kernel module
    gpus:     index, name, memory_mib, uuid and bus of each
    userland: container name -> version of its libraries where it is not the driver's; null: none are installed
    lost:     indices of GPUs that have fallen off the bus
    held_mib: index (as text, it is a JSON key) -> memory that somebody else's process holds
    busy:     index -> percent of the time that somebody else's work takes
    slowed:   index -> bits of what holds its clocks down, in hexadecimal ("0x40": heat)
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.state: dict[str, Any] = {}
        self.reset()

    def reset(self) -> None:
        """Two RTX A6000 and an A40, all well."""
        self.state = deepcopy(_DEFAULT)
        self._save()

    def change(self, changes: dict[str, Any]) -> None:
        """Replace whole keys. Raises KeyError for a key that there is not."""
        if unknown := changes.keys() - _DEFAULT.keys():
            raise KeyError(", ".join(sorted(unknown)))
        self.state.update(deepcopy(changes))
        self._save()

    @property
    def module(self) -> str:
        """What /proc/driver/nvidia/version says."""
        return (
            f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {self.state['driver']}  Release Build"
            "  (dvs-builder@U22-I3-B17-03-1)  Tue Sep 23 10:11:16 UTC 2025\n"
            "GCC version:  gcc version 14.2.0 (Debian 14.2.0-19) \n"
        )

    @property
    def devices(self) -> tuple[str, ...]:
        """Names below the node's /dev."""
        cards = tuple(f"nvidia{gpu['index']}" for gpu in self.state["gpus"])
        return (*cards, "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")

    def _save(self) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(self.state, indent=2) + "\n", encoding="utf-8")
        new.replace(self._file)
