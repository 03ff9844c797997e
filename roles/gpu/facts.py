"""What a machine says about its NVIDIA driver, device nodes and GPUs."""

import csv
import re
from dataclasses import dataclass, field

from inventory.models import Paths
from inventory.shell import command

FIELDS = ("index", "uuid", "name", "memory.total", "memory.used", "driver_version")
_QUERY = (f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits")
_LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/nvidia/lib64",  # where images for clouds mount it
)
_VERSION = re.compile(r"\b(\d{3,}\.\d+(?:\.\d+)?)\b")
_DEVICE = re.compile(r"(?P<name>nvidia\S*) (?P<access>rw|none)")


@dataclass(frozen=True)
class Gpu:
    """One row of nvidia-smi. Memory in MiB; None where the driver does not say ("[N/A]")."""

    index: int
    uuid: str
    name: str
    memory_total_mib: int | None
    memory_used_mib: int | None
    driver: str | None


@dataclass(frozen=True)
class GpuFacts:
    """One reading of a machine; inside a container the kernel module is the node's.

    kernel_module: version of the loaded module, from <procfs>/driver/nvidia/version; None when it is not loaded
    gpus:          what nvidia-smi lists; () when it failed or is absent
    smi_failure:   what nvidia-smi printed instead of rows; None when it answered or is absent
    smi_present:   whether there is an nvidia-smi at all
    devices:       nodes below <dev> ("nvidia0", "nvidia-caps/nvidia-cap1") -> whether they can be opened for reading
                   and writing as this user
    libraries:     versions of the libcuda files, the userland that programs load
    mig_instances: how many GPU instances the driver has cut (MIG)
    unread:        lines that were not understood; never guessed
    """

    kernel_module: str | None = None
    gpus: tuple[Gpu, ...] = ()
    smi_failure: str | None = None
    smi_present: bool = False
    devices: dict[str, bool] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    mig_instances: int = 0
    unread: tuple[str, ...] = ()

    @property
    def userland(self) -> tuple[str, ...]:
        """Versions of the userland, to the patch level where the machine shows it; () where nothing tells."""
        if self.libraries:
            return self.libraries
        if self.smi_failure:
            return tuple(re.findall(r"NVML library version: (\S+)", self.smi_failure))
        return tuple(dict.fromkeys(gpu.driver for gpu in self.gpus if gpu.driver))


def question(paths: Paths) -> str:
    """What to ask. Libraries are only looked for where the machine shows its own /proc: elsewhere they are another's.

    nvidia-smi hangs on a sick GPU, so it gets 20 s.
    """
    folders = _LIBRARY_FOLDERS if paths.procfs == "/proc" else ()
    return f"""procfs={command(paths.procfs)}
dev={command(paths.dev)}
sed 's/^/module /' "$procfs/driver/nvidia/version" 2>/dev/null
for node in "$dev"/nvidia* "$dev"/nvidia-caps/*; do
  [ -e "$node" ] && [ ! -d "$node" ] || continue
  if [ -r "$node" ] && [ -w "$node" ]; then access=rw; else access=none; fi
  printf 'device %s %s\\n' "${{node#"$dev"/}}" "$access"
done
for instance in "$procfs"/driver/nvidia/capabilities/gpu*/mig/gi*; do
  [ -d "$instance" ] && printf 'mig %s\\n' "${{instance##*/}}"
done
for folder in {command(*folders)}; do
  for library in "$folder"/libcuda.so.*.*; do
    [ -e "$library" ] && printf 'library %s\\n' "${{library##*/libcuda.so.}}"
  done
done
if command -v nvidia-smi >/dev/null 2>&1; then
  said=$(timeout 20 nvidia-smi {command(*_QUERY)} 2>&1)
  status=$?
  printf '%s\\n' "$said" | sed 's/^/smi /'
  printf 'smi-exit %s\\n' "$status"
else
  printf 'smi-absent\\n'
fi
"""


def parse(answer: str) -> GpuFacts:
    """Read the answer to `question`. Any text is read; what is not understood is in `unread`."""
    module: str | None = None
    devices: dict[str, bool] = {}
    libraries: list[str] = []
    smi: list[str] = []
    status: int | None = None
    mig = 0
    unread: list[str] = []
    for line in answer.splitlines():
        word, _, rest = line.partition(" ")
        if word == "module":
            module = module or _version(rest)
        elif word == "device" and (device := _DEVICE.fullmatch(rest)):
            devices[device["name"]] = device["access"] == "rw"
        elif word == "library" and (version := _version(rest)):
            libraries.append(version)
        elif word == "mig":
            mig += 1
        elif word == "smi":
            smi.append(rest)
        elif word == "smi-exit" and re.fullmatch(r"\d{1,3}", rest):
            status = int(rest)
        elif word != "smi-absent" and line.strip():
            unread.append(line)
    rows = [_row(line) for line in smi]
    gpus = tuple(row for row in rows if row is not None)
    talk = [line for line, row in zip(smi, rows, strict=True) if row is None and line.strip()]
    failed = (status is not None and status != 0) or (not gpus and bool(talk))
    if not failed:
        unread += talk
    return GpuFacts(
        kernel_module=module,
        gpus=gpus,
        smi_failure=_failure(talk, status) if failed else None,
        smi_present=status is not None,
        devices=devices,
        libraries=tuple(dict.fromkeys(libraries)),
        mig_instances=mig,
        unread=tuple(unread),
    )


def _version(text: str) -> str | None:
    found = _VERSION.search(text)
    return found[1] if found else None


def _row(line: str) -> Gpu | None:
    try:
        cells = next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error:
        return None
    if len(cells) != len(FIELDS) or not re.fullmatch(r"\d{1,3}", cells[0].strip()):
        return None
    index, uuid, name, total, used, driver = (cell.strip() for cell in cells)
    return Gpu(
        index=int(index),
        uuid=uuid,
        name=name,
        memory_total_mib=_mib(total),
        memory_used_mib=_mib(used),
        driver=_version(driver),
    )


def _mib(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,9}", text) else None


def _failure(talk: list[str], status: int | None) -> str:
    if status == 124:  # what timeout(1) exits with
        return "nvidia-smi did not answer within 20 s"
    return "\n".join(talk) or f"nvidia-smi ended with status {status}"
