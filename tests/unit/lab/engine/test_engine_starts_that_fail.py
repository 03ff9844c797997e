"""What keeps the real engine from starting keeps the stand-in from it: with the same words, and exit status 1."""

import json
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lab.models import write_weights
from tests.unit.lab.engine.process import Engine, Launch, free_port

CORE_FAILED = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
NO_FOLDER = "Invalid repository ID or local directory specified"


def end_of(launch: Launch, status: int = 1) -> list[str]:
    """Run to the end; returns the log."""
    with Engine(launch) as engine:
        assert engine.wait() == status, engine.text
        return engine.log


@pytest.mark.parametrize("ranks", ["1", "2"])
def test_a_missing_mask_token_is_the_root_cause_above_the_last_error(
    launch: Callable[..., Launch], drafter: Callable[..., Path], ranks: str
) -> None:
    folder = drafter()
    config = json.loads((folder / "config.json").read_text())
    del config["dflash_config"]["mask_token_id"]
    (folder / "config.json").write_text(json.dumps(config))
    flags = ("--tensor-parallel-size", ranks, "--gpu-memory-utilization", "0.99", "--max-model-len", "256")
    log = end_of(launch(k=5, drafter=folder, target="Qwen3.6-27B", flags=flags))
    causes = [i for i, line in enumerate(log) if "ValueError: For parallel drafting, the draft model config" in line]
    process = "Worker_TP0" if ranks == "2" else "EngineCore"
    assert log[causes[0]].startswith(f"({process} pid=")
    assert CORE_FAILED in log[-1]
    assert causes[-1] < len(log) - 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"layer_types": ["full_attention"] * 4},
            "ValueError: `num_hidden_layers` (5) must be equal to the number of `layer_types` (4)",
        ),
        (
            {"dflash_config": {"target_layer_ids": [1, 21, 41, 61]}},
            "Tried to load weights of size torch.Size([5120, 25600])to a parameter of size torch.Size([5120, 20480])",
        ),
        ({"intermediate_size": 12288}, "Tried to load weights of size torch.Size([17408, 5120])"),
        ({"use_sliding_window": False}, "DFlash sliding attention requires a window size configured"),
    ],
)
def test_a_config_that_does_not_fit_itself_or_the_weights_is_refused(
    launch: Callable[..., Launch], drafter: Callable[..., Path], changes: dict[str, Any], words: str
) -> None:
    assert words in "\n".join(end_of(launch(k=5, drafter=drafter(**changes))))


def test_a_drafters_folder_without_config_or_weights_is_refused(
    launch: Callable[..., Launch], drafter: Callable[..., Path], tmp_path: Path
) -> None:
    assert NO_FOLDER in "\n".join(end_of(launch(k=5, drafter=tmp_path / "nothing")))
    empty = drafter()
    (empty / "model.safetensors").unlink()
    assert f"Cannot find any model weights with `{empty}`" in "\n".join(end_of(launch(k=5, drafter=empty)))
    write_weights(empty / "model.safetensors", {"fc.weight": (5120, 25600)}, {})
    with (empty / "model.safetensors").open("r+b") as file:
        file.truncate(1_000_000)
    assert "incomplete metadata, file not fully covered" in "\n".join(end_of(launch(k=5, drafter=empty)))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"method": "dflash", "num_spec_tokens": 5}, "num_spec_tokens: Unexpected keyword argument"),
        ({"method": "hydra", "num_speculative_tokens": 5}, "Input should be 'dflash'"),
        ({"method": "mtp"}, "`num_speculative_tokens` was not provided"),
    ],
)
def test_a_speculative_config_that_means_nothing_is_refused(
    launch: Callable[..., Launch], config: dict[str, Any], words: str
) -> None:
    log = "\n".join(end_of(launch(flags=("--speculative-config", json.dumps(config)))))
    assert "1 validation error for SpeculativeConfig" in log
    assert words in log


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--frobnicate", "1"), "vllm: error: unrecognized arguments: --frobnicate 1"),
        (("--speculative-config", '{"method":'), 'argument --speculative-config/-sc: Value {"method": cannot be'),
    ],
)
def test_a_flag_that_means_nothing_ends_with_status_2(
    launch: Callable[..., Launch], flags: tuple[str, ...], words: str
) -> None:
    assert words in end_of(launch(flags=flags), status=2)[-1]


@pytest.mark.parametrize(
    ("gpus", "words"),
    [
        (
            ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 565.57\n", 18),
            "Failed to initialize NVML: Driver/library version mismatch",
        ),
        (("No devices were found\n", 6), "RuntimeError: Failed to infer device type"),
        (
            ("0, GPU-a, NVIDIA RTX A6000, 49140, 4\n", 0),
            "World size (2) is larger than the number of available GPUs (1)",
        ),
        (
            ("0, GPU-a, A, 49140, 4\n1, GPU-b, A, 49140, 20000\n", 0),
            "Free memory on device cuda:1 (28.46/47.99 GiB) on startup is less than desired GPU memory utilization",
        ),
        (("0, GPU-a, A, 24576, 4\n1, GPU-b, A, 24576, 4\n", 0), "No available memory for the cache blocks"),
    ],
)
def test_gpus_that_are_not_as_needed_end_the_start(
    launch: Callable[..., Launch], tools: Callable[..., Path], gpus: tuple[str, int], words: str
) -> None:
    assert words in "\n".join(end_of(launch(tools=tools(*gpus))))


def test_a_gpu_that_is_not_visible_does_not_count(launch: Callable[..., Launch]) -> None:
    log = end_of(launch(environment={"CUDA_VISIBLE_DEVICES": "1"}))
    assert "available GPUs (1)" in "\n".join(log)


def test_without_nvidia_smi_there_is_no_device(launch: Callable[..., Launch], tmp_path: Path) -> None:
    log = end_of(launch(environment={"PATH": str(tmp_path)}))
    assert "RuntimeError: Failed to infer device type" in log[-1]


def test_a_longer_context_than_the_models_or_the_memorys_is_refused(
    launch: Callable[..., Launch], tools: Callable[..., Path]
) -> None:
    flags = ("--tensor-parallel-size", "2", "--max-model-len", "1000000")
    assert "is greater than the derived max_model_len" in "\n".join(end_of(launch(flags=flags)))
    small = tools("0, GPU-a, A, 34000, 4\n1, GPU-b, A, 34000, 4\n")
    flags = ("--tensor-parallel-size", "2", "--max-model-len", "262144")
    log = "\n".join(end_of(launch(tools=small, flags=flags)))
    assert "GiB KV cache is needed, which is larger than the available KV cache memory" in log
    assert "the estimated maximum model length is" in log


def test_a_port_that_somebody_listens_on_is_not_taken(launch: Callable[..., Launch]) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)), Engine(launch(), port) as engine:
        assert engine.wait() == 1
    assert engine.log[-1].endswith("OSError: [Errno 98] Address already in use")


def test_a_build_that_needs_too_much_memory_says_so_above_the_last_error(launch: Callable[..., Launch]) -> None:
    log = end_of(launch(50002, k=5))
    first = next(i for i, line in enumerate(log) if "torch.OutOfMemoryError: CUDA out of memory. Tried to" in line)
    assert CORE_FAILED in log[-1]
    assert first < len(log) - 1


def test_a_build_whose_kernels_do_not_fit_cannot_be_imported(build: Callable[[int], Path]) -> None:
    tried = subprocess.run(
        ["python3", "-c", "import vllm"], cwd=build(50001), capture_output=True, text=True, check=False
    )
    assert tried.returncode == 1
    assert "ImportError: " in tried.stderr.splitlines()[-1]
    assert "/vllm/_C.abi3.so: undefined symbol: _ZN3c104cuda" in tried.stderr
