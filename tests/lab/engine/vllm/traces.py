"""Tracebacks as vLLM 0.20.1 logs them when a start fails or the engine dies: shortened, but every marker is there.

The root cause always stands above: the API server's own last line names it only as "See root cause above".
"""

from pathlib import Path

from vllm.engine import EngineDeadError
from vllm.files import ModelError
from vllm.log import API, CORE, worker

_ROOT = Path(__file__).parent
_SERVE = (
    ("entrypoints/cli/main.py", 92, "main", "args.dispatch_function(args)"),
    ("entrypoints/cli/serve.py", 122, "cmd", "uvloop.run(run_server(args))"),
)
_BIND = (
    *_SERVE,
    ("entrypoints/openai/api_server.py", 677, "run_server", "listen_address, sock = setup_server(args)"),
    ("entrypoints/openai/api_server.py", 556, "setup_server", "sock = create_server_socket(sock_addr)"),
    ("entrypoints/openai/api_server.py", 504, "create_server_socket", "sock.bind(addr)"),
)
_RUN = (
    *_SERVE,
    ("entrypoints/openai/api_server.py", 678, "run_server", "await run_server_worker(listen_address, sock, args)"),
    ("entrypoints/openai/api_server.py", 692, "run_server_worker", "async with build_async_engine_client("),
)
_CONFIGURE = (
    *_RUN,
    (
        "entrypoints/openai/api_server.py",
        124,
        "build_async_engine_client_from_engine_args",
        "vllm_config = engine_args.create_engine_config(usage_context=usage_context)",
    ),
)
_LAUNCH = (
    *_RUN,
    ("v1/engine/core_client.py", 535, "__init__", "with launch_core_engines("),
    ("v1/engine/utils.py", 1119, "launch_core_engines", "wait_for_engine_startup("),
    ("v1/engine/utils.py", 1178, "wait_for_engine_startup", "raise RuntimeError("),
)
_START_CORE = (
    (
        "v1/engine/core.py",
        1110,
        "run_engine_core",
        "engine_core = EngineCoreProc(*args, engine_index=dp_rank, **kwargs)",
    ),
    ("v1/engine/core.py", 118, "__init__", "self.model_executor = executor_class(vllm_config)"),
)
_START_WORKER = (
    ("v1/executor/multiproc_executor.py", 837, "worker_main", "worker = WorkerProc(*args, **kwargs)"),
    ("v1/executor/multiproc_executor.py", 619, "__init__", "self.worker.load_model()"),
)
_START_ALONE = (("v1/executor/uniproc_executor.py", 52, "_init_executor", "self.driver_worker.load_model()"),)
_STEP_CORE = (
    ("v1/engine/core.py", 1129, "run_engine_core", "engine_core.run_busy_loop()"),
    ("v1/engine/core.py", 1170, "run_busy_loop", "self._process_engine_step()"),
    ("v1/engine/core.py", 1209, "_process_engine_step", "outputs, model_executed = self.step_fn()"),
)
_STEP_WORKER = (
    ("v1/executor/multiproc_executor.py", 957, "worker_busy_loop", "output = func(*args, **kwargs)"),
    ("v1/worker/gpu_worker.py", 750, "sample_tokens", "return self.model_runner.sample_tokens(grammar_output)"),
    ("v1/worker/gpu_model_runner.py", 4745, "propose_draft_token_ids", "draft_token_ids = self.drafter.propose("),
)
_OUTPUT = (
    ("v1/engine/async_llm.py", 660, "output_handler", "outputs = await engine_core.get_output_async()"),
    ("v1/engine/core_client.py", 998, "get_output_async", "raise self._format_exception(outputs) from None"),
)
_PYDANTIC = {"speculative": "SpeculativeConfig", "model": "ModelConfig", "parallel": "ParallelConfig"}


def port_taken(error: OSError) -> None:
    """Log that the address cannot be bound."""
    API.raw(_trace(_BIND, f"OSError: [Errno {error.errno}] {error.strerror}"))


def config_refused(error: ModelError, config: str = "") -> None:
    """Log what the API server itself finds wrong, before there is an engine.

    config: "model", "speculative" or "parallel" where pydantic wraps a ValueError, else ""
    """
    if config and error.kind == "ValueError":
        text = (
            f"pydantic_core._pydantic_core.ValidationError: 1 validation error for {_PYDANTIC[config]}\n"
            f"  Value error, {error} [type=value_error, input_value=ArgsKwargs((), {{'model': ...}}), "
            "input_type=ArgsKwargs]\n    For further information visit https://errors.pydantic.dev/2.12/v/value_error"
        )
    else:
        text = f"{_qualified(error.kind)}: {error}"
    API.raw(_trace(_CONFIGURE, text))


def start_failed(error: ModelError, tensor_parallel: int) -> None:
    """Log the root cause where it happened, then what each process above says of it."""
    cause = f"{_qualified(error.kind)}: {error}"
    if tensor_parallel > 1:
        worker(tensor_parallel).error(
            "multiproc_executor.py:870", f"WorkerProc failed to start.\n{_trace(_START_WORKER, cause)}"
        )
        cause = (
            "Exception: WorkerProc initialization failed due to an exception in a background process. "
            "See stack trace for root cause."
        )
        trace = _trace(_START_CORE, cause)
    else:
        trace = _trace((*_START_CORE, *_START_ALONE), cause)
    CORE.error("core.py:1136", f"EngineCore failed to start.\n{trace}")
    CORE.raw(f"Process EngineCore:\n{trace}")
    API.raw(
        _trace(
            _LAUNCH,
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        )
    )


def engine_died(error: ModelError, tensor_parallel: int) -> None:
    """Log the death of a running engine, from the worker up to the API server."""
    cause = f"{_qualified(error.kind)}: {error}"
    trace = _trace((*_STEP_CORE, *_STEP_WORKER[1:]), cause)
    if tensor_parallel > 1:
        place = "multiproc_executor.py:962"
        worker(tensor_parallel).error(place, f"WorkerProc hit an exception.\n{_trace(_STEP_WORKER, cause)}")
        trace = _trace(
            _STEP_CORE,
            f"RuntimeError: Worker failed with error '{error}', please check the stack trace above for the root cause",
        )
    CORE.error("core.py:1138", f"EngineCore encountered a fatal error.\n{trace}")
    CORE.raw(f"Process EngineCore:\n{trace}")
    dead = _trace(_OUTPUT, f"vllm.v1.engine.exceptions.EngineDeadError: {EngineDeadError()}")
    API.error("async_llm.py:704", f"AsyncLLM output_handler failed.\n{dead}")


def _qualified(kind: str) -> str:
    return {
        "AcceleratorError": "torch.AcceleratorError",
        "OutOfMemoryError": "torch.OutOfMemoryError",
        "SafetensorError": "safetensors_rust.SafetensorError",
        "StrictDataclassClassValidationError": "huggingface_hub.errors.StrictDataclassClassValidationError",
        "HFValidationError": "huggingface_hub.errors.HFValidationError",
    }.get(kind, kind)


def _trace(frames: tuple[tuple[str, int, str, str], ...], last: str) -> str:
    lines = [f'  File "{_ROOT / path}", line {line}, in {name}\n    {code}' for path, line, name, code in frames]
    return "\n".join(("Traceback (most recent call last):", *lines, last))
