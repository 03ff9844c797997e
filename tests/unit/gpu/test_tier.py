"""The GPU tier where there is no GPU: its shell, its look at a stand-in, what it skips, and its heavier model."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from inventory.errors import CommandError, DeadlineExceeded
from inventory.secrets import Redactor
from roles.tune.answer import answer
from roles.tune.points import read_points
from tests.gpu.__main__ import halves
from tests.gpu.heavier import widen
from tests.gpu.here import HereShell

CHECKOUT = Path(__file__).parents[3]
SMI = """#!/bin/sh
echo '0, GPU-00000000-1111-2222-3333-444444444444, NVIDIA H200, 143771, 0, 580.159.04'
"""


@pytest.fixture
def shell() -> HereShell:
    return HereShell(Redactor())


def test_the_shell_here_runs_and_tells_lines_as_they_come(shell: HereShell) -> None:
    lines: list[str] = []
    result = shell.run("echo one; cat; echo two >&2; exit 3", stdin=b"given\n", check=False, on_line=lines.append)
    assert (result.exit_status, result.stdout, result.stderr) == (3, "one\ngiven\n", "two\n")
    assert lines == ["one", "given"]
    with pytest.raises(CommandError, match="ended with status 3"):
        shell.run("exit 3")


def test_a_script_here_that_hangs_has_an_end(shell: HereShell) -> None:
    with pytest.raises(DeadlineExceeded, match=r"did not end within 0\.2 s"):
        shell.run("exec sleep 60", timeout_s=0.2)


def test_files_here_are_written_whole_and_read_back(shell: HereShell, tmp_path: Path) -> None:
    content = bytes(range(256)) * 1000
    shell.write(str(tmp_path / "file"), content, mode=0o640)
    assert shell.read(str(tmp_path / "file")) == content
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    assert shell.read(str(tmp_path / "none")) is None
    with shell.forward(8000) as port:
        assert port == 8000


def run(*argv: str, path: Path | None = None) -> "subprocess.CompletedProcess[str]":
    env = {"PATH": f"{path}:/usr/bin:/bin" if path else "/usr/bin:/bin", "PYTHONPATH": str(CHECKOUT)}
    return subprocess.run(
        [sys.executable, "-m", "tests.gpu", *argv], env=env, capture_output=True, text=True, timeout=120, check=False
    )


def test_without_a_driver_the_look_says_what_is_missing_and_fails() -> None:
    if Path("/proc/driver/nvidia/version").exists():
        pytest.skip("this machine has an NVIDIA driver")
    done = run()
    assert done.returncode == 1
    assert "error: this machine's /proc shows no NVIDIA kernel module" in done.stdout
    assert "skipped: no sweep without --model" in done.stdout
    assert ("Proxmox" in done.stdout, done.stderr) == (False, "")


def test_what_nvidia_smi_lists_is_in_the_json_and_on_the_page(tmp_path: Path) -> None:
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text(SMI)
    smi.chmod(0o755)
    out, page = tmp_path / "gpu.json", tmp_path / "gpu.html"
    run("--json", str(out), "--html", str(page), path=smi.parent)
    found = json.loads(out.read_text())
    assert found["doctor"]["facts"]["gpus"][0]["memory_total_mib"] == 143771
    assert (found["points"], found["skipped"]) == ([], "no sweep without --model")
    assert "NVIDIA H200, 0 of 143771 MiB used" in page.read_text()


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["--model", str(CHECKOUT), "--venv", "/no/such/venv"], "skipped: no sweep without an engine"),
        (["--model", str(CHECKOUT)], "skipped: no sweep without an engine"),
    ],
)
def test_no_engine_is_a_skip_that_says_so(argv: list[str], why: str) -> None:
    assert why in run(*argv).stdout


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["--model", "/no/such/model"], "argument --model: /no/such/model is no folder"),
        (["--tokens", "7;3"], "argument --tokens: '7;3' is no list of numbers like 7,3,1"),
        (["--env", "LD_PRELOAD"], "argument --env: 'LD_PRELOAD' is not NAME=VALUE"),
    ],
)
def test_wrong_usage_is_said_in_one_line(argv: list[str], why: str) -> None:
    done = run(*argv)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1]) == (2, "", f"./run gpu: error: {why}")


def test_a_sweep_begins_with_the_most_and_ends_without_speculation() -> None:
    assert halves(15) == [15, 7, 3, 1, 0]
    assert halves(1) == [1, 0]


def test_a_wider_mlp_holds_the_same_weights_and_zeros(tmp_path: Path) -> None:
    """silu(0) * 0 is 0, and rows of zeros in down_proj add nothing: the function stays."""
    shapes = {"a.mlp.gate_proj.weight": [6, 4], "a.mlp.down_proj.weight": [4, 6], "a.norm.weight": [4]}
    weights = {name: np.arange(1, 1 + np.prod(shape), dtype=np.uint16).reshape(shape) for name, shape in shapes.items()}
    write(tmp_path / "model.safetensors", weights)
    widen(tmp_path / "model.safetensors", tmp_path / "wide.safetensors", 10)
    wide = read(tmp_path / "wide.safetensors")
    assert {name: list(one.shape) for name, one in wide.items()} == {
        "a.mlp.gate_proj.weight": [10, 4],
        "a.mlp.down_proj.weight": [4, 10],
        "a.norm.weight": [4],
    }
    gate, down = wide["a.mlp.gate_proj.weight"], wide["a.mlp.down_proj.weight"]
    assert (gate[:6] == weights["a.mlp.gate_proj.weight"]).all()
    assert (down[:, :6] == weights["a.mlp.down_proj.weight"]).all()
    assert not gate[6:].any()
    assert not down[:, 6:].any()
    assert (wide["a.norm.weight"] == weights["a.norm.weight"]).all()


def write(path: Path, weights: dict[str, "np.ndarray[tuple[int, ...], np.dtype[np.uint16]]"]) -> None:
    entries: dict[str, object] = {}
    end = 0
    for name, one in weights.items():
        begin, end = end, end + one.nbytes
        entries[name] = {"dtype": "BF16", "shape": list(one.shape), "data_offsets": [begin, end]}
    head = json.dumps(entries).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + b"".join(one.tobytes() for one in weights.values()))


def read(path: Path) -> dict[str, "np.ndarray[tuple[int, ...], np.dtype[np.uint16]]"]:
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    assert size % 8 == 0
    return {
        name: np.frombuffer(data[8 + size :][slice(*about["data_offsets"])], np.uint16).reshape(about["shape"])
        for name, about in header.items()
        if name != "__metadata__"
    }


def test_a_sweep_of_a_real_gpu_is_what_tune_reads() -> None:
    """An H200 with a drafter whose step costs as much as the target's: speculation loses at one stream and at eight."""
    content = (CHECKOUT / "tests/cases/tune/h200-drafter-costs-a-step.json").read_bytes()
    found = answer(read_points(content, "points.json"))
    assert found.best == 0
    assert any("concurrency 1: speculation should be off: 539.9 tok/s without it" in note for note in found.notes)
    assert any("concurrency 8: speculation should be off: 3515.7 tok/s without it" in note for note in found.notes)
