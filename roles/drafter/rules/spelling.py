"""A rule about keys that nobody reads: no engine complains, and the value that was meant stays what it was."""

import difflib
from collections.abc import Iterator

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import rule, warning

_TOP = (
    *("architectures", "model_type", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
    *("num_key_value_heads", "head_dim", "vocab_size", "draft_vocab_size", "rms_norm_eps", "hidden_act", "rope_theta"),
    *("rope_scaling", "rope_parameters", "max_position_embeddings", "attention_bias", "layer_types", "sliding_window"),
    *("use_sliding_window", "max_window_layers", "is_causal", "num_target_layers", "block_size", "dflash_config"),
    *("mask_token_id", "target_layer_ids", "target_hidden_size", "tie_word_embeddings", "torch_dtype", "dtype"),
)
_NESTED = (
    *("mask_token_id", "target_layer_ids", "layer_ids", "block_size", "num_target_layers", "use_swa", "causal"),
    *("swa_window_size", "use_aux_hidden_state", "sample_from_anchor", "conv_kernel_size", "conv_group_size"),
    *("selector_rank", "selector_top_k", "markov_rank", "projector_type", "shift_label", "attention_sink_bias"),
    *("attention_value_scale",),
)
_ELSEWHERE = (
    *("eagle_aux_hidden_state_layer_ids", "aux_hidden_state_layer_ids", "transformer_layer_config", "n_predict"),
    *("speculators_model_type", "speculators_config", "norm_before_residual", "eagle_config"),
)
"""Keys of other layouts and methods at top level."""

_ALIKE = 0.85
"""As difflib counts it: one letter that is missing, doubled or wrong in a name of this length."""


@rule("key-spelling")
def a_key_that_nobody_reads(evidence: Evidence) -> Iterator[Finding]:
    """A key that is nearly one that engines read is most likely meant to be it."""
    for prefix, config, known in (("", evidence.view.raw, _TOP), ("dflash_config.", evidence.view.nested, _NESTED)):
        for key in config:
            if key in known:
                continue
            near = difflib.get_close_matches(key, known, 1, _ALIKE)
            if near:
                message = f"no engine reads it; {near[0]} is what engines read"
                yield warning(f"{prefix}{key}", message, f"call it {near[0]}", near[0])


def is_read(place: str) -> bool:
    """Whether a dotted key of a config is one that engines read; of what lies deeper, only where it begins is known."""
    first, _, rest = place.partition(".")
    if first == "dflash_config" and rest:
        return rest.partition(".")[0] in _NESTED
    return first in _TOP or first in _ELSEWHERE


def nearest(place: str) -> str | None:
    """The dotted key that was most likely meant by one that is not read; None where none is alike."""
    nested = {name: f"dflash_config.{name}" for name in _NESTED}
    known = nested if place.startswith("dflash_config.") else {**nested, **{name: name for name in _TOP}}
    near = difflib.get_close_matches(place.removeprefix("dflash_config."), known, 1, _ALIKE)
    return known[near[0]] if near else None


RULES = (a_key_that_nobody_reads,)
