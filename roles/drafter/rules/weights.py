"""Rules that compare the config with the shapes in the weights' header: what cannot be argued with."""

from collections.abc import Iterator

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import WITH_WEIGHTS, error, rule, warning
from roles.drafter.shapes import generation, is_biased, is_plain, layer_numbers, plain, sizes

_PER_LAYER = (
    *("input_layernorm", "post_attention_layernorm"),
    *("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
    *("self_attn.q_norm", "self_attn.k_norm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
)
_OPTIONAL = {"d2t", "t2d", "lm_head.weight", "embed_tokens.weight", "verifier_norm.weight", "verifier_lm_head.weight"}
_TORCH_TYPES = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}
_TRUTH = "the weights are what they are: take the config of the same revision"


@rule("weights-file", methods=WITH_WEIGHTS)
def broken_file(evidence: Evidence) -> Iterator[Finding]:
    """The weights' files are whole."""
    if evidence.header is not None:
        for problem in evidence.header.problems[:5]:
            yield error("weights", problem, "download the weights again")


@rule("weights-layers")
def layers(evidence: Evidence) -> Iterator[Finding]:
    """num_hidden_layers is the number of layers in the weights."""
    numbers = sorted(layer_numbers(evidence.header))
    count = evidence.view.effective("num_hidden_layers")
    if not numbers:
        return
    if numbers != list(range(len(numbers))):
        yield error(
            "weights", f"layers {numbers[:12]} are not numbered from 0 without a gap", "download the weights again"
        )
    elif count is not None and count != len(numbers):
        yield error("num_hidden_layers", f"{count} here, {len(numbers)} layers in the weights", _TRUTH, len(numbers))


@rule("weights-shapes")
def shapes(evidence: Evidence) -> Iterator[Finding]:
    """Sizes in the config are the sides of the tensors."""
    header, view = evidence.header, evidence.view
    if header is None or not is_plain(header):
        return
    for key, actual in sizes(header).items():
        given = view.effective(key)
        if given is not None and given != actual:
            yield error(key, f"{given} here, {actual} in the weights", _TRUTH, actual)


@rule("weights-bias")
def bias(evidence: Evidence) -> Iterator[Finding]:
    """attention_bias is true exactly when the weights have attention biases."""
    header = evidence.header
    if header is None or not is_plain(header):
        return
    there = is_biased(header)
    said = evidence.view.body.get("attention_bias") is True
    if there != said:
        yield error(
            "attention_bias",
            f"{str(said).lower()} here, the weights have {'biases' if there else 'none'}",
            _TRUTH,
            there,
        )


@rule("weights-names")
def names(evidence: Evidence) -> Iterator[Finding]:
    """The weights hold the tensors of a DFlash drafter, no more and no fewer."""
    header = evidence.header
    if header is None or evidence.view.generation != "dflash" or not is_plain(header):
        return
    have = {plain(name) for name in header.tensors}
    wanted = {"fc.weight", "hidden_norm.weight", "norm.weight"} | {
        f"layers.{number}.{part}.weight" for number in layer_numbers(header) for part in _PER_LAYER
    }
    if lacking := sorted(wanted - have):
        yield error(
            "weights", f"{len(lacking)} tensors are missing: {', '.join(lacking[:3])}", "download the weights again"
        )
    foreign = sorted(name for name in have - wanted - _OPTIONAL if not name.endswith(".bias"))
    if foreign and generation(header) not in {None, "dflash"}:
        yield error(
            "architectures",
            f"the weights are of a DFlash2 or DSpark drafter ({foreign[0][:60]}), the config says DFlash",
            "take the config of the same revision",
        )
    elif foreign:
        yield warning(
            "weights", f"{len(foreign)} tensors are unknown: {', '.join(name[:60] for name in foreign[:3])}", _TRUTH
        )


@rule("weights-vocab", methods=frozenset({"dflash", "eagle3"}))
def vocabulary(evidence: Evidence) -> Iterator[Finding]:
    """A drafter with a smaller vocabulary brings its own head and the map to the target's."""
    header, size, rows = evidence.header, evidence.view.size("draft_vocab_size"), evidence.vocab
    if header is None or not header.tensors or size is None:
        return
    shapes_by_name = {plain(name): tensor.shape for name, tensor in header.tensors.items()}
    head, table = shapes_by_name.get("lm_head.weight"), shapes_by_name.get("d2t")
    if head and head[0] != size:
        yield error("draft_vocab_size", f"{size} here, the head has {head[0]} rows", _TRUTH, head[0])
    if rows is not None and size != rows:
        if table is None:
            yield error("weights", f"{size} of {rows} tokens are drafted, and there is no d2t that says which", _TRUTH)
        elif table and table[0] != size:
            yield error("draft_vocab_size", f"{size} here, d2t has {table[0]} entries", _TRUTH, table[0])


@rule("weights-dtype")
def dtype(evidence: Evidence) -> Iterator[Finding]:
    """The dtype in the config is that of the weights."""
    raw = evidence.view.raw
    said = raw.get("dtype") if raw.get("torch_dtype") is None else raw.get("torch_dtype")
    tensor = evidence.header.tensors.get("fc.weight") if evidence.header else None
    wanted = _TORCH_TYPES.get(said) if isinstance(said, str) else None
    if tensor is not None and wanted is not None and tensor.dtype != wanted:
        yield warning("torch_dtype", f"{said} here, {tensor.dtype} in the weights", "compare with the published config")


RULES = (broken_file, layers, shapes, bias, names, vocabulary, dtype)
