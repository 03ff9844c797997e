"""The stand-ins answer like the programs that they stand in for."""

from pathlib import Path

import pytest

from tests.lab.gpus import Gpus
from tests.lab.standins import df, nvidia_smi

_GIB_KIB = 1024**2


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A lab's folder with a container ct1 that has GPU 1 of three."""
    Gpus(tmp_path / "gpu.json")
    (tmp_path / "ct1/dev").mkdir(parents=True)
    for name in ("nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / "ct1/dev" / name).touch()
    return tmp_path


def _smi(folder: Path, *argv: str) -> tuple[int, str]:
    return nvidia_smi.answer("ct1", str(folder), list(argv))


def test_a_container_sees_only_the_gpus_whose_device_it_has_counted_from_zero(machine: Path) -> None:
    assert _smi(machine, "-L") == (0, "GPU 0: NVIDIA RTX A6000 (UUID: GPU-91b7d3c4-2e58-4f0a-8b6c-1d3f5a7b9c21)\n")


def test_any_subset_of_fields_can_be_asked_for_with_and_without_heading_and_units(machine: Path) -> None:
    query = "--query-gpu=index,name,memory.total,memory.used,driver_version"
    assert _smi(machine, query, "--format=csv,noheader,nounits")[1] == "0, NVIDIA RTX A6000, 49140, 1, 580.95.05\n"
    assert _smi(machine, query, "--format=csv,noheader")[1] == "0, NVIDIA RTX A6000, 49140 MiB, 1 MiB, 580.95.05\n"
    assert _smi(machine, "--query-gpu=temperature.gpu,power.draw", "--format=csv")[1] == (
        "temperature.gpu, power.draw [W]\n31, 21.54 W\n"
    )


def test_an_unknown_field_is_refused(machine: Path) -> None:
    assert _smi(machine, "--query-gpu=index,speed", "--format=csv") == (
        2,
        'Field "speed" is not a valid field to query.\n\n',
    )


def test_a_userland_of_another_version_cannot_talk_to_the_driver(machine: Path) -> None:
    Gpus(machine / "gpu.json").change({"userland": {"ct1": "565.57.01"}})
    assert _smi(machine) == (
        18,
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 565.57\n",
    )


def test_without_the_control_device_there_is_no_driver_and_without_a_card_no_gpu(machine: Path) -> None:
    (machine / "ct1/dev/nvidia1").unlink()
    assert _smi(machine) == (6, "No devices were found\n")
    (machine / "ct1/dev/nvidiactl").unlink()
    status, text = _smi(machine)
    assert (status, "couldn't communicate with the NVIDIA driver" in text) == (9, True)


def test_a_lost_gpu_of_another_container_does_not_matter(machine: Path) -> None:
    gpus = Gpus(machine / "gpu.json")
    gpus.change({"lost": [0]})
    assert _smi(machine, "-L")[0] == 0
    gpus.change({"lost": [1]})
    status, text = _smi(machine, "-L")
    assert (status, text.partition(".  ")[0]) == (
        15,
        "Unable to determine the device handle for GPU00000000:61:00.0: GPU is lost",
    )


def test_unknown_keys_of_the_gpus_state_are_refused(machine: Path) -> None:
    with pytest.raises(KeyError, match="drvier"):
        Gpus(machine / "gpu.json").change({"drvier": "1"})


@pytest.mark.parametrize(
    ("options", "head", "row"),
    [
        (["-Pk", "/"], "Filesystem 1024-blocks Used Available Capacity Mounted on", "67108864 3145728 63963136 5% /"),
        (
            ["-B1", "/"],
            "Filesystem 1B-blocks Used Available Use% Mounted on",
            "68719476736 3221225472 65498251264 5% /",
        ),
        (["--block-size=1G"], "Filesystem 1G-blocks Used Available Use% Mounted on", "64 3 61 5% /"),
        (["--output=avail", "-B", "1M", "/"], "Avail", "62464"),
    ],
)
def test_df_shows_the_containers_disk_in_the_unit_that_was_asked_for(options: list[str], head: str, row: str) -> None:
    status, text = df.answer(64 * _GIB_KIB, 3 * _GIB_KIB, options)
    first, second = text.splitlines()
    assert (status, first) == (0, head)
    assert second.removeprefix("/dev/mapper/pve-root ") == row


def test_df_knows_no_path_that_is_not_there(tmp_path: Path) -> None:
    assert df.answer(100, 1, [str(tmp_path / "x")])[0] == 1
