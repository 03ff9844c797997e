"""What is read from a machine's answer, from real shells with made devices, and from any text at all."""

import json
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.models import Paths
from roles.gpu.facts import parse, question

CASES = sorted((Path(__file__).parents[2] / "cases" / "gpu").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_answer_is_read_as_the_case_says(path: Path) -> None:
    case: dict[str, Any] = json.loads(path.read_text())
    facts = json.loads(json.dumps(asdict(parse("\n".join(case["answer"])))))
    assert {key: facts[key] for key in case["facts"]} == case["facts"]


@given(
    st.text() | st.lists(st.sampled_from(["module ", "device ", "smi ", "smi-exit ", "library ", "mig "])).map("".join)
)
def test_any_text_is_read_without_an_exception(answer: str) -> None:
    """Property: no answer, however broken, raises; a driver version is only reported where digits stand."""
    facts = parse(answer)
    assert facts.kernel_module is None or facts.kernel_module[0].isdigit()


@given(st.text(alphabet='a0,"[', min_size=1), st.sampled_from(["0", "9"]))
def test_what_nvidia_smi_prints_is_never_lost(line: str, status: str) -> None:
    """Property: a line is a GPU, part of a failure, or unread."""
    facts = parse(f"smi {line}\nsmi-exit {status}")
    assert facts.gpus or line in (facts.smi_failure or "") or facts.unread == (line,)


@pytest.fixture
def machine(tmp_path: Path) -> Paths:
    proc, dev = tmp_path / "proc", tmp_path / "dev it"
    (proc / "driver/nvidia/capabilities/gpu0/mig/gi7").mkdir(parents=True)
    (proc / "driver/nvidia/version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.148.06  Mon\n")
    (dev / "nvidia-caps").mkdir(parents=True)
    for name in ("nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap1", "null"):
        (dev / name).touch()
    return Paths.model_construct(root="/nowhere", logs="/nowhere", procfs=str(proc), dev=str(dev))


def ask(paths: Paths, folder: Path, smi: str | None) -> str:
    """Run the question with dash, with a stand-in nvidia-smi and nothing else added to the PATH."""
    (folder / "bin").mkdir()
    if smi is not None:
        (folder / "bin/nvidia-smi").write_text(f"#!/bin/sh\n{smi}\n")
        (folder / "bin/nvidia-smi").chmod(0o755)
    answer = subprocess.run(
        ["dash", "-c", question(paths)],
        env={"PATH": f"{folder}/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stderr == ""
    return answer.stdout


def test_question_finds_module_devices_mig_and_gpus(machine: Paths, tmp_path: Path) -> None:
    facts = parse(ask(machine, tmp_path, "echo '0, GPU-aa, NVIDIA H200, 143771, 4, 570.148.06'"))
    assert facts.kernel_module == "570.148.06"
    assert set(facts.devices) == {"nvidia0", "nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap1"}
    assert facts.mig_instances == 1
    assert [(gpu.name, gpu.memory_total_mib) for gpu in facts.gpus] == [("NVIDIA H200", 143771)]
    assert facts.unread == ()


def test_question_tells_what_a_failing_nvidia_smi_said_on_both_streams(machine: Paths, tmp_path: Path) -> None:
    facts = parse(ask(machine, tmp_path, "echo 'Failed to initialize NVML'; echo 'and more' >&2; exit 18"))
    assert facts.smi_failure == "Failed to initialize NVML\nand more"


def test_question_asks_for_exactly_the_fields_that_are_read(machine: Paths, tmp_path: Path) -> None:
    facts = parse(ask(machine, tmp_path, 'echo "$*"; exit 1'))
    assert facts.smi_failure == (
        "--query-gpu=index,uuid,name,memory.total,memory.used,driver_version --format=csv,noheader,nounits"
    )


def test_question_says_when_there_is_no_nvidia_smi(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    paths = Paths.model_construct(root="/nowhere", logs="/nowhere", procfs=str(empty), dev=str(empty))
    facts = parse(ask(paths, tmp_path, None))
    assert (facts.smi_present, facts.kernel_module, facts.devices) == (False, None, {})
