"""Rules about how a drafter is launched: options of --speculative-config, tensor parallelism, backends, batching."""

import json
import re
from collections.abc import Iterator, Mapping

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import ALL, WITH_WEIGHTS, error, info, rule, warning
from roles.drafter.values import integer, integers, mapping, text

_OURS = {"method": "drafter.method", "model": "drafter.path", "num_speculative_tokens": "drafter.tokens"}
# SpeculativeConfig of vLLM 0.33.0 forbids every other key.
_KEYS = frozenset(
    (
        *("draft_tensor_parallel_size", "quantization", "moe_backend", "attention_backend", "kv_cache_dtype"),
        *("max_model_len", "revision", "code_revision", "enforce_eager", "parallel_drafting", "draft_load_config"),
        *("num_speculative_tokens_per_batch_size", "draft_sample_method", "rejection_sample_method"),
        *("synthetic_acceptance_rates", "synthetic_acceptance_length", "disable_padded_drafter_batch"),
        *("disable_eagle_block_drop", "disable_lookahead_block_hashes", "draft_lm_head_quantization"),
        *("use_local_argmax_reduction", "use_heterogeneous_vocab", "prompt_lookup_max", "prompt_lookup_min"),
        *("index_share_for_mtp_iteration", "enable_adaptive_verification", "dspark_draft_topk", "xpress_topc"),
    )
)
_BATCHED, _SEQUENCES = 2048, 256  # vLLM's defaults on GPUs of less than 70 GiB
_IN_PARALLEL = frozenset({"dflash", "dspark"})
_COMPILATION = ("--compilation-config", "-cc", "-O")
_ADA = re.compile(r"RTX 40\d\d|RTX \d{4} Ada|\bL4\b|\bL40S?\b")
_KEY_FAMILIES = ("suffix_decoding_", "fly_")


@rule("options", methods=ALL)
def options(evidence: Evidence) -> Iterator[Finding]:
    """drafter.options are keys of --speculative-config; an unknown one stops the engine."""
    for key, value in evidence.drafter.options.items():
        if value is None:  # it is left out
            continue
        field = f"drafter.options.{key}"
        if key in _OURS:
            yield error(field, f"{_OURS[key]} says it", f"remove it, and set {_OURS[key]}")
        elif key == "tensor_parallel_size":
            yield error(
                field, "the engine refuses this name", "draft_tensor_parallel_size", "draft_tensor_parallel_size"
            )
        elif key not in _KEYS and not key.startswith(_KEY_FAMILIES):
            yield warning(field, "vLLM 0.33.0 knows no such key and refuses it", "check its spelling")


@rule("draft-tensor-parallel", methods=WITH_WEIGHTS)
def tensor_parallel(evidence: Evidence) -> Iterator[Finding]:
    """A drafter runs on one GPU or on as many as its target, and its heads divide among them."""
    if evidence.server is None:
        return
    whole = evidence.server.tensor_parallel
    asked = integer(evidence.drafter.options, "draft_tensor_parallel_size")
    if asked is not None and asked not in {1, whole}:
        yield error(
            "drafter.options.draft_tensor_parallel_size",
            f"{asked} is neither 1 nor server.tensor_parallel ({whole})",
            f"1 or {whole}",
        )
        return
    parts = whole if asked is None else asked
    for key in ("num_attention_heads", "num_key_value_heads"):
        heads = evidence.view.size(key)
        if heads is None or heads <= 0 or parts <= 1:
            continue
        shared = key == "num_key_value_heads" and parts % heads == 0  # fewer heads than GPUs are copied
        if heads % parts and not shared:
            yield error(
                "drafter.options.draft_tensor_parallel_size",
                f"the drafter's {heads} {key} do not divide among {parts} GPUs",
                "drafter.options: {draft_tensor_parallel_size: 1}",
                1,
            )


@rule("attention-backend", engines="by version")
def backend(evidence: Evidence) -> Iterator[Finding]:
    """Layers that look both ways need a backend that can be non-causal."""
    asked, able = text(evidence.drafter.options, "attention_backend"), evidence.engine.backends
    if asked is None or able is None or "full_attention" not in (evidence.view.attention or ()):
        return
    name = asked.upper()
    if not any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in able):
        yield error(
            "drafter.options.attention_backend",
            f"{asked[:40]} cannot be non-causal in engine {evidence.engine.version}, and full layers of DFlash are",
            "drafter.options: {attention_backend: FLASH_ATTN}",
            "FLASH_ATTN",
        )


@rule("batched-tokens", methods=WITH_WEIGHTS)
def token_budget(evidence: Evidence) -> Iterator[Finding]:
    """A step has room for every sequence's drafted tokens."""
    if evidence.tokens is None:
        return
    args = evidence.server.args if evidence.server else ()
    batched = argument(args, "--max-num-batched-tokens")
    sequences = argument(args, "--max-num-seqs")
    per_sequence = evidence.tokens + 1
    reserves = evidence.engine.reserves and evidence.drafter.method in _IN_PARALLEL
    left = (batched or _BATCHED) - (evidence.tokens - 1) * (sequences or _SEQUENCES)
    if batched is not None and sequences is not None:
        room, remedy = batched < sequences * per_sequence, _more_room(batched, sequences, per_sequence)
        if left <= 0 and reserves:
            yield error("server.args", _no_budget(evidence, left), remedy, sequences * per_sequence)
        elif room:
            yield warning(
                "server.args",
                f"--max-num-batched-tokens {batched} is less than {sequences} sequences x {per_sequence} tokens a step",
                remedy,
                sequences * per_sequence,
            )
    elif left <= 0 and reserves and evidence.server is not None:
        yield warning(
            "server.args",
            f"{_no_budget(evidence, left)} where its defaults are {_BATCHED} tokens and {_SEQUENCES} sequences",
            _more_room(batched or _BATCHED, sequences or _SEQUENCES, per_sequence),
            (sequences or _SEQUENCES) * per_sequence,
        )


@rule("capture-sizes", methods=WITH_WEIGHTS)
def graphs_that_fit_no_batch(evidence: Evidence) -> Iterator[Finding]:
    """A decode row is 1 + k tokens: full graphs are captured for multiples of that."""
    config = _object(evidence.server.args, _COMPILATION) if evidence.server else {}
    sizes = integers(config, "cudagraph_capture_sizes")
    if not sizes or evidence.tokens is None:
        return
    row = evidence.tokens + 1
    odd = [size for size in sizes if size % row]
    if odd:
        full = "FULL" in (text(config, "cudagraph_mode") or "").upper()
        yield (error if full else warning)(
            "compilation_config.cudagraph_capture_sizes",
            f"{odd[:8]} are no multiples of {row} (1 + k): "
            f"{'a batch is padded beyond its graph and the first requests fail' if full else 'they are never used'}",
            f"multiples of {row}",
            sorted({-(-size // row) * row for size in sizes}),
        )


@rule("fp8-cache", methods=WITH_WEIGHTS)
def fp8_cache_on_ada(evidence: Evidence) -> Iterator[Finding]:
    """FlashAttention takes no FP8 cache on Ada GPUs."""
    args = evidence.server.args if evidence.server else ()
    cache = text(evidence.drafter.options, "kv_cache_dtype") or _value(args, "--kv-cache-dtype") or ""
    asked = text(evidence.drafter.options, "attention_backend") or _value(args, "--attention-backend")
    ada = None if evidence.gpus is None else [name for name in evidence.gpus if _ADA.search(name)]
    if not cache.startswith("fp8") or (asked or "FLASH_ATTN").upper() != "FLASH_ATTN" or ada == []:
        return
    yield (warning if ada else info)(
        "drafter.options.attention_backend",
        f"the KV cache is {cache[:20]}, and flash_attn takes none on {ada[0] if ada else 'Ada GPUs (RTX 40, L4, L40)'}",
        "drafter.options: {attention_backend: FLASHINFER}   (engine 0.24.0 and later)",
        "FLASHINFER",
    )


@rule("compile-cache", engines="0.20 and later")
def shared_compile_cache(evidence: Evidence) -> Iterator[Finding]:
    """Each drafter config has a compile cache of its own: the engine's key leaves the target layers out."""
    if evidence.server is not None and "VLLM_CACHE_ROOT" in evidence.server.env:
        yield warning(
            "server.env.VLLM_CACHE_ROOT",
            "configs that differ in their target layers would share compiled graphs, and run each other's",
            "leave it out: every build and config gets a folder of its own",
        )


def _more_room(batched: int, sequences: int, per_sequence: int) -> str:
    return f"--max-num-batched-tokens {sequences * per_sequence}, or --max-num-seqs {max(batched // per_sequence, 1)}"


def _no_budget(evidence: Evidence, left: int) -> str:
    return f"engine {evidence.engine.version} has {left} tokens left for a step with {evidence.tokens} drafted ones"


def _object(args: tuple[str, ...], flags: tuple[str, ...]) -> Mapping[str, object]:
    for flag in flags:
        if (given := _value(args, flag)) is not None:
            try:
                return mapping(json.loads(given))
            except (ValueError, RecursionError):
                return {}
    return {}


def argument(args: tuple[str, ...], flag: str) -> int | None:
    """The number after a flag."""
    given = _value(args, flag)
    return int(given) if given and given.isascii() and given.isdigit() and len(given) < 12 else None


def _value(args: tuple[str, ...], flag: str) -> str | None:
    """The word after a flag, in "--flag 8" and "--flag=8"; the last one counts."""
    found = None
    for index, word in enumerate(args):
        name, equals, value = word.partition("=")
        if name == flag:
            found = value if equals else args[index + 1] if index + 1 < len(args) else None
    return found


RULES = (
    options,
    tensor_parallel,
    backend,
    token_budget,
    graphs_that_fit_no_batch,
    fp8_cache_on_ada,
    shared_compile_cache,
)
