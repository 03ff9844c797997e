"""What must hold on any machine with an NVIDIA GPU, and with a model and a drafter on it.

SPECRAIL_GPU_MODEL and SPECRAIL_GPU_DRAFTER name their folders; vllm is the one on PATH, or SPECRAIL_GPU_VENV's.
"""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.gpu.__main__ import main
from tests.gpu.doctor import Doctor


def test_the_facts_of_a_real_driver_are_read_whole(found: Doctor) -> None:
    assert found.facts.unread == ()
    assert found.facts.kernel_module
    assert {gpu.driver for gpu in found.facts.gpus} == {found.facts.kernel_module}
    assert all(gpu.memory_total_mib and gpu.uuid.startswith("GPU-") for gpu in found.facts.gpus)
    assert all(found.facts.devices[f"nvidia{gpu.index}"] for gpu in found.facts.gpus)


def test_a_machine_that_computes_has_no_errors(found: Doctor) -> None:
    assert [one for one in found.findings if one.severity == "error"] == []


def test_two_of_the_sweep_foretell_the_rest(found: Doctor, tmp_path: Path) -> None:
    model, drafter = os.environ.get("SPECRAIL_GPU_MODEL"), os.environ.get("SPECRAIL_GPU_DRAFTER")
    venv = os.environ.get("SPECRAIL_GPU_VENV")
    if not (model and drafter):
        pytest.skip("SPECRAIL_GPU_MODEL and SPECRAIL_GPU_DRAFTER name no folders")
    if venv is None and shutil.which("vllm") is None:
        pytest.skip("no vllm on PATH, and SPECRAIL_GPU_VENV names none")
    out = tmp_path / "gpu.json"
    status = main(
        [
            "--model",
            model,
            "--drafter",
            drafter,
            *(["--venv", venv] if venv else []),
            "--json",
            str(out),
            "--html",
            str(tmp_path / "gpu.html"),
            "--folder",
            str(tmp_path / "here"),
        ]
    )
    result = json.loads(out.read_text())
    assert (status, result["failed"]) == (0, [])
    for point in result["points"]:
        if k := point["speculative_tokens"]:
            assert point["drafted"] == k * point["rounds"]
            assert sum(point["per_position_rates"]) == pytest.approx(point["accepted"] / point["rounds"], abs=1e-3)
    told = result["foretold"]["1"]
    assert told
    assert all(one["measured"] == pytest.approx(one["predicted"], rel=0.35) for one in told)
