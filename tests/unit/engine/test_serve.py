"""The serve command: what stands in its argv and its environment."""

import json
from typing import Any

from inventory.models import Server, Target
from roles.engine.serve import Serve, cache_folder, serve

MODEL = Target(path="/srv/models/qwen", served_name="qwen3.6-27b")
SPECULATIVE = {"method": "dflash", "model": "/b/releases/r/drafter", "num_speculative_tokens": 5}


def command(speculative: dict[str, object] | None = None, **server: Any) -> Serve:
    return serve("vllm", "/b/venvs/v", MODEL, Server(**server), speculative, "/b/cache/compile/v-1")


def test_vllm_is_served_with_what_the_inventory_says() -> None:
    argv = command(SPECULATIVE, tensor_parallel=2, max_model_len=32768, args=("--enforce-eager",)).argv
    assert argv[:3] == ("/b/venvs/v/bin/vllm", "serve", "/srv/models/qwen")
    pairs = dict(zip(argv[3:-1:2], argv[4:-1:2], strict=True))
    assert pairs == {
        "--host": "127.0.0.1",
        "--port": "8000",
        "--served-model-name": "qwen3.6-27b",
        "--tensor-parallel-size": "2",
        "--max-model-len": "32768",
        "--speculative-config": json.dumps(SPECULATIVE),
    }
    assert argv[-1] == "--enforce-eager"


def test_speculative_config_is_one_word_of_json() -> None:
    """It is broken by every shell that gets to see it in pieces."""
    argv = command({"method": "dflash", "model": "/a 'b' {c}"}).argv
    assert json.loads(argv[argv.index("--speculative-config") + 1]) == {"method": "dflash", "model": "/a 'b' {c}"}


def test_without_a_drafter_nothing_is_said_about_one() -> None:
    argv = command().argv
    assert "--speculative-config" not in argv
    assert "--max-model-len" not in argv
    assert "--gpu-memory-utilization" not in argv


def test_compile_cache_is_the_configs_own_and_variables_of_the_inventory_win() -> None:
    env = command(env={"HF_HUB_OFFLINE": "0", "NCCL_P2P_DISABLE": "1"}).env
    assert (env["VLLM_CACHE_ROOT"], env["HF_HUB_OFFLINE"], env["NCCL_P2P_DISABLE"]) == (
        "/b/cache/compile/v-1",
        "0",
        "1",
    )
    folders = {
        cache_folder("/b", venv, digest) for venv in ("/x/v1", "/x/v2") for digest in ("ab" * 32, "cd" * 32, None)
    }
    assert len(folders) == 6
    assert cache_folder("/b", "/x/v1", None) == "/b/cache/compile/v1-plain"


def test_an_environment_can_name_what_lies_in_the_engines_venv() -> None:
    env = command(env={"LD_PRELOAD": "{venv}/lib/libiomp5.so", "JSON": '{"venv": 1}'}).env
    assert (env["LD_PRELOAD"], env["JSON"]) == ("/b/venvs/v/lib/libiomp5.so", '{"venv": 1}')
