"""The phases of engine core and workers, as the log of vLLM 0.20.1 shows them: what fails, fails where it would there."""

from argparse import Namespace
from dataclasses import dataclass
from math import ceil

from vllm import gpus
from vllm.clock import Clock
from vllm.compile_cache import Entry
from vllm.drafter import Drafter
from vllm.features import FAULT, VERSION
from vllm.files import ModelError, Target
from vllm.log import CORE, Process, worker
from vllm.speculation import Speculation

_ENGINE_S, _TARGET_S, _DRAFTER_S, _COMPILE_S, _CACHED_S, _PROFILE_S, _GRAPHS_S = 0.8, 2.0, 0.4, 1.8, 0.3, 0.4, 0.8
"""Engine seconds of the phases: short ones, the lab's users wait for them."""

_SHARDS = 6
_GIB = 1024**3


@dataclass(frozen=True)
class Loading:
    """One start. devices are the GPUs that are used, one a rank."""

    arguments: Namespace
    clock: Clock
    target: Target
    speculation: Speculation | None
    devices: tuple[gpus.Gpu, ...]
    max_model_len: int

    def run(self) -> tuple[tuple[int, ...], int]:
        """Go through the phases; returns the auxiliary layers of the compiled graph, and the tokens of the KV cache.

        Raises ModelError.
        """
        self._announce()
        self.clock.wait(_ENGINE_S)
        self._check()
        held = self._load_target() + self._load_drafter()
        took_s = _TARGET_S + (_DRAFTER_S if self._drafter else 0)
        self._process.info(
            "gpu_model_runner.py:4879", f"Model loading took {gpus.gib(held)} GiB memory and {took_s:.6f} seconds"
        )
        aux_layers, compile_s = self._compile()
        self.clock.wait(_PROFILE_S)
        kv_tokens = self._make_kv_cache(held)
        if not self.arguments.enforce_eager:
            self._capture_graphs()
        all_s = f"init engine (profile, create kv cache, warmup model) took {compile_s + _PROFILE_S + _GRAPHS_S:.2f} s"
        CORE.info("core.py:299", f"{all_s} (compilation: {compile_s:.2f} s)")
        return aux_layers, kv_tokens

    @property
    def _drafter(self) -> Drafter | None:
        return self.speculation.drafter if self.speculation else None

    @property
    def _ranks(self) -> int:
        return len(self.devices)

    @property
    def _process(self) -> Process:
        return worker(self._ranks)

    def _announce(self) -> None:
        model, drafting = self.arguments.model_tag, None
        if self.speculation is not None:
            folder = self._drafter.folder if self._drafter else model
            drafting = (
                f"SpeculativeConfig(method='{self.speculation.method}', model='{folder}', "
                f"num_spec_tokens={self.speculation.k})"
            )
        CORE.info(
            "core.py:109",
            f"Initializing a V1 LLM engine (v{VERSION}) with config: model='{model}', speculative_config={drafting}, "
            f"tokenizer='{model}', trust_remote_code={bool(self.arguments.trust_remote_code)}, dtype=torch.bfloat16, "
            f"max_seq_len={self.max_model_len}, tensor_parallel_size={self._ranks}, "
            f"enforce_eager={bool(self.arguments.enforce_eager)}, seed={self.arguments.seed}",
        )
        self._process.info(
            "parallel_state.py:1402",
            f"world_size={self._ranks} rank=0 local_rank=0 distributed_init_method=tcp://127.0.0.1:53179 backend=nccl",
        )
        self._process.info(
            "parallel_state.py:1715",
            f"rank 0 in world size {self._ranks} is assigned as DP rank 0, PP rank 0, PCP rank 0, TP rank 0, "
            "EP rank N/A, EPLB rank N/A",
        )

    def _check(self) -> None:
        for device, gpu in enumerate(self.devices):
            gpus.check_free(gpu, device, self.arguments.gpu_memory_utilization)
        if self._drafter is not None and self._drafter.mask_token_id is None:
            raise ModelError(
                "ValueError",
                "For parallel drafting, the draft model config must have `pard_token`, `ptd_token_id`, or "
                "`dflash_config.mask_token_id` specified in its config.json.",
            )

    def _load_target(self) -> int:
        model, process = self.arguments.model_tag, self._process
        process.info("gpu_model_runner.py:4777", f"Starting to load model {model}...")
        process.info("cuda.py:368", "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN'].")
        if FAULT == "out of memory at start":
            total = self.devices[0].total_bytes
            raise ModelError(
                "OutOfMemoryError",
                "CUDA out of memory. Tried to allocate 1.90 GiB. GPU 0 has a total capacity of "
                f"{gpus.gib(total)} GiB of which 312.00 MiB is free. Including non-PyTorch memory, this process has "
                f"{gpus.gib(total - 312 * 1024**2)} GiB memory in use.",
            )
        self._load_shards(_SHARDS, _TARGET_S)
        return self.target.parameters * 2 // self._ranks

    def _load_drafter(self) -> int:
        drafter, process = self._drafter, self._process
        if drafter is None:
            return 0
        process.info("gpu_model_runner.py:4801", "Loading drafter model...")
        self._load_shards(1, _DRAFTER_S)
        for place, part, whole in (
            ("llm_base_proposer.py:1416", "embed_tokens", "embedding"),
            ("llm_base_proposer.py:1471", "lm_head", "lm_head"),
        ):
            process.info(
                place,
                f"Detected EAGLE model without its own {part} in the checkpoint. Sharing target model {whole} weights "
                "with the draft model.",
            )
        if drafter.configured_layers:
            layers = drafter.configured_layers
            process.info("gpu_model_runner.py:4839", f"Using auxiliary layers from speculative config: {layers}")
        return drafter.weights.size_bytes // self._ranks

    def _load_shards(self, shards: int, took_s: float) -> None:
        bar = "Loading safetensors checkpoint shards"
        self._process.bar(f"{bar}:   0% Completed | 0/{shards} [00:00<?, ?it/s]")
        for done in range(1, shards + 1):
            self.clock.wait(took_s / shards)
            spent_s = took_s * done / shards
            self._process.bar(
                f"{bar}: {100 * done // shards:3d}% Completed | {done}/{shards} "
                f"[00:{int(spent_s):02d}<00:{int(took_s - spent_s):02d}, {shards / took_s:.2f}it/s]"
            )
        self._process.info("default_loader.py:384", f"Loading weights took {took_s:.2f} seconds")

    def _compile(self) -> tuple[tuple[int, ...], float]:
        """Compile, or load what was compiled before: auxiliary layers of the graph, and the seconds that it took."""
        layers = self._drafter.aux_layers(self.target) if self._drafter else ()
        if self.arguments.enforce_eager:
            return layers, 0.0
        process, k = self._process, self.speculation.k if self.speculation else 0
        entry = Entry(VERSION, self.arguments.model_tag, vars(self.target), k, self._ranks)
        cached = entry.load()
        took_s = _COMPILE_S if cached is None else _CACHED_S
        process.info(
            "backends.py:1069", f"Using cache directory: {entry.folder}/rank_0_0/backbone for vLLM's torch.compile"
        )
        self.clock.wait(took_s)
        if cached is not None:
            layers = cached
            process.info("decorators.py:305", f"Directly load AOT compilation from path {entry.path}")
        else:
            process.info("backends.py:1128", f"Dynamo bytecode transform time: {took_s * 0.3:.2f} s")
            process.info("backends.py:391", f"Compiling a graph for compile range (1, 8192) takes {took_s * 0.6:.2f} s")
            if entry.save(layers):
                process.info("decorators.py:668", f"saved AOT compiled function to {entry.path}")
        process.info("monitor.py:53", f"torch.compile took {took_s:.2f} s in total")
        return layers, took_s

    def _make_kv_cache(self, held: int) -> int:
        """Return how many tokens the KV cache holds. Raises ModelError when the longest request does not fit."""
        smallest = min(gpu.total_bytes for gpu in self.devices)
        available = smallest * self.arguments.gpu_memory_utilization - held - 2 * _GIB  # activations and graphs
        self._process.info("gpu_worker.py:440", f"Available KV cache memory: {gpus.gib(available)} GiB")
        if available <= 0:
            raise ModelError(
                "ValueError",
                "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing "
                "the engine. See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details.",
            )
        length, bytes_per_token = self.max_model_len, ceil(self.target.kv_bytes_per_token / self._ranks)
        tokens = int(available // bytes_per_token) // 16 * 16
        if tokens < length:
            raise ModelError(
                "ValueError",
                f"To serve at least one request with the models's max seq len ({length}), "
                f"({gpus.gib(length * bytes_per_token)} GiB KV cache is needed, which is larger than the available KV "
                f"cache memory ({gpus.gib(available)} GiB). Based on the available memory, the estimated maximum model "
                f"length is {tokens}. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when "
                "initializing the engine. See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more "
                "details.",
            )
        CORE.info("kv_cache_utils.py:1708", f"GPU KV cache size: {tokens:,} tokens")
        times = tokens / length
        CORE.info("kv_cache_utils.py:1709", f"Maximum concurrency for {length:,} tokens per request: {times:.2f}x")
        return tokens

    def _capture_graphs(self) -> None:
        speed = f"{64 / _GRAPHS_S:.2f}it/s"
        for kind in ("mixed prefill-decode, PIECEWISE", "decode, FULL"):
            self._process.bar(f"Capturing CUDA graphs ({kind}):   0%|          | 0/32 [00:00<?, ?it/s]")
            self.clock.wait(_GRAPHS_S / 2)
            self._process.bar(f"Capturing CUDA graphs ({kind}): 100%|██████████| 32/32 [00:00<00:00, {speed}]")
        self._process.info(
            "gpu_model_runner.py:6133", f"Graph capturing finished in {_GRAPHS_S:.0f} secs, took 0.97 GiB"
        )
