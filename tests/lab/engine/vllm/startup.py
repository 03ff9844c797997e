"""The start: what the API server checks before there is an engine, then the engine's own phases."""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vllm import flaws, gpus, speculation, traces
from vllm.clock import Clock
from vllm.engine import Limits
from vllm.files import ModelError, Target, read_target
from vllm.loading import Loading
from vllm.log import API


class StartFailed(Exception):
    """The start ended; the log says why."""


@dataclass(frozen=True)
class Started:
    """An engine that is ready to serve. fatal: what kills it at its first request; None for one that lives."""

    limits: Limits
    max_model_len: int
    fatal: Callable[[], None] | None


def start(arguments: Namespace, clock: Clock) -> Started:
    """Go through all phases. Raises StartFailed after the log has said why."""
    loading = _configure(arguments, clock)
    try:
        aux_layers, kv_tokens = loading.run()
    except ModelError as error:
        traces.start_failed(error, arguments.tensor_parallel_size)
        raise StartFailed from error
    drafting = loading.speculation
    limits = Limits(
        k=drafting.k if drafting else 0,
        rates=drafting.rates(loading.target, aux_layers) if drafting else (),
        seed=arguments.seed,
        max_num_seqs=arguments.max_num_seqs or 256,
        kv_tokens=kv_tokens,
        table=drafting.table if drafting else (),
    )
    fatal = flaws.at_first_request(loading.target, drafting, aux_layers, arguments.tensor_parallel_size)
    return Started(limits, loading.max_model_len, fatal)


def _configure(arguments: Namespace, clock: Clock) -> Loading:
    part = ""
    try:
        devices = gpus.visible()
        part = "model"
        target = _target(Path(arguments.model_tag))
        API.info("model.py:555", f"Resolved architecture: {target.architecture}")
        length = _length(arguments.max_model_len, target)
        API.info("model.py:1680", f"Using max model len {length}")
        part = "parallel"
        gpus.check_number(devices, arguments.tensor_parallel_size)
        part = "speculative"
        drafting = None
        if arguments.speculative_config:
            drafting = speculation.read(arguments.speculative_config, arguments.tensor_parallel_size)
            if drafting.drafter is not None:
                API.info("model.py:555", f"Resolved architecture: {drafting.drafter.architecture}")
                API.info("model.py:1680", f"Using max model len {length}")
    except ModelError as error:
        traces.config_refused(error, part)
        raise StartFailed from error
    batched = arguments.max_num_batched_tokens or 8192
    API.info("scheduler.py:239", f"Chunked prefill is enabled with max_num_batched_tokens={batched}.")
    API.info("vllm.py:840", "Asynchronous scheduling is enabled.")
    return Loading(arguments, clock, target, drafting, devices[: arguments.tensor_parallel_size], length)


def _target(folder: Path) -> Target:
    if not folder.is_dir():
        raise ModelError(
            "HFValidationError",
            f"Repo id must be in the form 'repo_name' or 'namespace/repo_name': '{folder}'. Use `repo_type` argument "
            "if needed.",
        )
    return read_target(folder)


def _length(asked: int | None, target: Target) -> int:
    derived = target.max_position_embeddings
    if asked is not None and asked > derived:
        raise ModelError(
            "ValueError",
            f"User-specified max_model_len ({asked}) is greater than the derived max_model_len "
            f"(max_position_embeddings={float(derived)} or model_max_length=None in model's config.json). To allow "
            "overriding this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1.",
        )
    return asked or derived
