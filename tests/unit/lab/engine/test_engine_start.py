"""The start of the stand-in engine as its log tells it, and the cache that can hide an edited config."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.lab.engine.process import Engine, Launch

PHASES = (
    "Resolved architecture: Qwen3_5ForConditionalGeneration",
    "Resolved architecture: DFlashDraftModel",
    "Initializing a V1 LLM engine (v0.20.1",
    "Starting to load model",
    "Loading safetensors checkpoint shards: 100% Completed | 6/6",
    "Loading drafter model...",
    "Using auxiliary layers from speculative config: ",
    "Model loading took ",
    "torch.compile took ",
    "Available KV cache memory: ",
    "GPU KV cache size: ",
    "Capturing CUDA graphs",
    "init engine (profile, create kv cache, warmup model) took ",
    "Starting vLLM server on http://127.0.0.1:",
    "Application startup complete.",
)
MOVED = {"dflash_config": {"target_layer_ids": [2, 17, 32, 47, 60]}}


def test_phases_come_in_the_order_of_the_real_log(launch: Callable[..., Launch]) -> None:
    with Engine(launch(k=5)) as engine:
        log = engine.ready().text
    assert [log.index(phase) for phase in PHASES] == sorted(log.index(phase) for phase in PHASES)
    assert all(
        line.startswith(("(APIServer pid=", "(EngineCore pid=", "(Worker_TP0 pid=")) or not line.strip()
        for line in engine.log
        if "Completed" not in line and "Capturing" not in line
    )


@pytest.mark.parametrize(
    ("pull", "layers"),
    [(None, "(1, 16, 31, 46, 61)"), (40727, "(2, 17, 32, 47, 62)"), (40898, "(2, 17, 32, 47, 62)")],
)
def test_the_log_shows_whether_the_build_adds_one_to_the_layers(
    launch: Callable[..., Launch], pull: int | None, layers: str
) -> None:
    with Engine(launch(pull, k=5)) as engine:
        engine.wait_for(f"Using auxiliary layers from speculative config: {layers}")


def test_edited_layers_stay_without_effect_while_the_compile_cache_is_the_old_one(
    launch: Callable[..., Launch], drafter: Callable[..., Path], tmp_path: Path
) -> None:
    """The edit would cost a tenth of the acceptance length: with the old cache it costs nothing."""

    def accepted(caches: Path, **changes: dict[str, list[int]]) -> tuple[float, bool]:
        with Engine(launch(k=15, drafter=drafter(**changes), caches=caches, clock=500)) as engine:
            engine.ready().chats([f"Prompt {number}" for number in range(20)], max_tokens=64)
            metrics = engine.metrics()
        rounds, count = (metrics[f"vllm:spec_decode_num_{name}_total"] for name in ("drafts", "accepted_tokens"))
        return count / rounds, "Directly load AOT compilation from path" in engine.text

    old, new = tmp_path / "old", tmp_path / "new"
    right, cached = accepted(old)
    assert not cached
    assert accepted(old, **MOVED) == (right, True)
    moved, cached = accepted(new, **MOVED)
    assert not cached
    assert moved < right


def test_an_eager_start_and_a_disabled_cache_leave_no_cache(launch: Callable[..., Launch], tmp_path: Path) -> None:
    eager = ("--tensor-parallel-size", "2", "--enforce-eager")
    for more in ({"flags": eager}, {"environment": {"VLLM_DISABLE_COMPILE_CACHE": "1"}}):
        with Engine(launch(k=5, caches=tmp_path / "caches", **more)) as engine:
            engine.ready()
        assert not (tmp_path / "caches").exists()
