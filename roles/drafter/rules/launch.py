"""Rules about how a drafter is launched: options of --speculative-config, tensor parallelism, backends, batching."""

from collections.abc import Iterator

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import ALL, WITH_WEIGHTS, error, rule, warning
from roles.drafter.values import integer, text

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
_KEY_FAMILIES = ("suffix_decoding_", "fly_")


@rule("options", methods=ALL)
def options(evidence: Evidence) -> Iterator[Finding]:
    """drafter.options are keys of --speculative-config; an unknown one stops the engine."""
    for key in evidence.drafter.options:
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
    if evidence.server is None:
        return
    batched = _argument(evidence.server.args, "--max-num-batched-tokens")
    sequences = _argument(evidence.server.args, "--max-num-seqs")
    per_sequence = evidence.drafter.tokens + 1
    if batched is not None and sequences is not None and batched < sequences * per_sequence:
        yield warning(
            "server.args",
            f"--max-num-batched-tokens {batched} is less than {sequences} sequences x {per_sequence} tokens a step",
            f"--max-num-batched-tokens {sequences * per_sequence}, or --max-num-seqs {max(batched // per_sequence, 1)}",
            sequences * per_sequence,
        )


def _argument(args: tuple[str, ...], flag: str) -> int | None:
    """The number after a flag, in "--flag 8" and "--flag=8"; the last one counts."""
    found = None
    for index, word in enumerate(args):
        name, equals, value = word.partition("=")
        if name == flag:
            given = value if equals else args[index + 1] if index + 1 < len(args) else ""
            found = int(given) if given.isascii() and given.isdigit() and len(given) < 12 else None
    return found


RULES = (options, tensor_parallel, backend, token_budget)
