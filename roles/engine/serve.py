"""How an engine is started: argv and environment of its serve command, by kind of engine."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from inventory.models import Server, Target

VENV = "{venv}"
"""In server.env, the folder of the engine's venv, which no inventory can know."""


@dataclass(frozen=True)
class Serve:
    """A command to serve with. env holds no secrets; they come from server.env on the host."""

    argv: tuple[str, ...]
    env: dict[str, str]


def serve(
    kind: str, venv: str, model: Target, server: Server, speculative: Mapping[str, object] | None, cache: str
) -> Serve:
    """The command for an engine of `kind` in the venv at that path.

    speculative: what --speculative-config gets; None serves without a drafter
    cache:       folder for what the engine compiles (see `cache_folder`)

    Variables in server.env win over ours.
    """
    return _KINDS[kind](venv, model, server, speculative, cache)


def cache_folder(base: str, venv: str, drafter_config_sha256: str | None) -> str:
    """Where this build with this drafter config keeps what it compiles; base is the service's folder.

    One folder for each config: vLLM's key for compiled graphs leaves dflash_config.target_layer_ids out, so a shared
    cache silently runs the layers of the config before (seen with 0.23.0).
    """
    return f"{base}/cache/compile/{venv.rsplit('/', 1)[-1]}-{(drafter_config_sha256 or 'plain')[:12]}"


def _vllm(venv: str, model: Target, server: Server, speculative: Mapping[str, object] | None, cache: str) -> Serve:
    argv = [f"{venv}/bin/vllm", "serve", model.path, "--host", server.listen, "--port", str(server.port)]
    argv += ["--served-model-name", model.served_name, "--tensor-parallel-size", str(server.tensor_parallel)]
    if server.max_model_len is not None:
        argv += ["--max-model-len", str(server.max_model_len)]
    if server.gpu_memory_utilization is not None:
        argv += ["--gpu-memory-utilization", str(server.gpu_memory_utilization)]
    if speculative is not None:
        argv += ["--speculative-config", json.dumps(speculative, sort_keys=True)]
    env = {
        "VLLM_CACHE_ROOT": cache,
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",  # the model is a folder: nothing may be fetched behind our back
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "",  # set, every process would compile all modules again at each start
    }
    own = {name: value.replace(VENV, venv) for name, value in server.env.items()}
    return Serve(argv=(*argv, *server.args), env={**env, **own})


_Adapter = Callable[[str, Target, Server, Mapping[str, object] | None, str], Serve]
_KINDS: dict[str, _Adapter] = {"vllm": _vllm}
