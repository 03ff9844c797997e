"""Rules about the config as a document: is it one, of which kind, and are its values of the right types."""

from collections.abc import Callable, Iterator, Mapping

from roles.drafter import values
from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import ALL, WITH_WEIGHTS, error, rule, warning

# Names that vLLM 0.33.0 registers; an architecture without "DFlash" at an end is looked up as DFlash<architecture>.
_ARCHITECTURES = {
    *("DFlashDraftModel", "DFlash2DraftModel", "DFlash2BeamDraftModel", "DFlashLagunaForCausalLM"),
    *("DFlashMuseGlimmerAssistantModel", "MuseGlimmerAssistantModel", "DFlashQwen3XPressModel", "LiLiCorrDraftModel"),
}
_PAIRS = (("conv_kernel_size", "conv_group_size"), ("selector_rank", "selector_top_k"))

_Test = Callable[[object], bool]


def _numeric(value: object) -> bool:
    return values.number({"": value}, "") is not None


def _list_of_integers(value: object) -> bool:
    return values.integers({"": value}, "") is not None


def _list_of_texts(value: object) -> bool:
    return values.texts({"": value}, "") is not None


def _is(kind: type) -> _Test:
    return lambda value: isinstance(value, kind)


_TYPES: Mapping[str, tuple[str, _Test]] = {
    **dict.fromkeys(
        (
            *("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads"),
            *("head_dim", "vocab_size", "draft_vocab_size", "target_hidden_size", "max_position_embeddings"),
            *("block_size", "num_target_layers", "sliding_window", "max_window_layers", "mask_token_id", "n_predict"),
        ),
        ("a whole number", values.is_integer),
    ),
    **dict.fromkeys(("rope_theta", "rms_norm_eps"), ("a number", _numeric)),
    **dict.fromkeys(("use_sliding_window", "attention_bias", "is_causal"), ("true or false", _is(bool))),
    **dict.fromkeys(("architectures", "layer_types"), ("a list of words", _list_of_texts)),
    **dict.fromkeys(("dflash_config", "transformer_layer_config", "rope_parameters"), ("an object", _is(dict))),
    **dict.fromkeys(("aux_hidden_state_layer_ids", "target_layer_ids"), ("a list of whole numbers", _list_of_integers)),
}
_NESTED_TYPES: Mapping[str, tuple[str, _Test]] = {
    **dict.fromkeys(("mask_token_id", "block_size", "num_target_layers", "swa_window_size"), _TYPES["block_size"]),
    "target_layer_ids": _TYPES["target_layer_ids"],
    **dict.fromkeys(("use_swa", "causal", "sample_from_anchor", "use_aux_hidden_state"), _TYPES["is_causal"]),
}


@rule("types", methods=ALL)
def wrong_types(evidence: Evidence) -> Iterator[Finding]:
    """Values that are read have the type that they are read as."""
    places = ((evidence.view.raw, "", _TYPES), (evidence.view.nested, "dflash_config.", _NESTED_TYPES))
    for config, prefix, types in places:
        for key, (wanted, fits) in types.items():
            value = config.get(key)
            if value is not None and not fits(value):
                yield error(f"{prefix}{key}", f"{_short(value)} is not {wanted}", f"{prefix}{key} is {wanted}")


@rule("dflash-config")
def no_dflash_config(evidence: Evidence) -> Iterator[Finding]:
    """A DFlash drafter's own settings stand in dflash_config."""
    view = evidence.view
    if view.raw.get("dflash_config") is None and not view.speculators and view.ids is None and view.mask is None:
        yield error(
            "dflash_config",
            "there is none: this is no DFlash drafter's config, or half of one",
            "drafter.config: the published config of the same revision",
        )


@rule("architecture")
def architecture(evidence: Evidence) -> Iterator[Finding]:
    """architectures names a class that the engine has for DFlash drafters."""
    view = evidence.view
    if view.speculators or "speculators_model_type" in view.raw:
        return
    if view.architecture is None:
        if view.raw.get("architectures") is None:
            yield error("architectures", "there is none", 'architectures: ["DFlashDraftModel"]', ["DFlashDraftModel"])
    elif view.architecture not in _ARCHITECTURES and f"DFlash{view.architecture}" not in _ARCHITECTURES:
        yield warning(
            "architectures",
            f"{view.architecture[:60]!r} is none of the DFlash drafters that vLLM 0.33.0 knows",
            "drafter.method, or another engine, may be what is wrong",
        )


@rule("method", methods=ALL)
def another_method(evidence: Evidence) -> Iterator[Finding]:
    """A DFlash drafter is served with method dflash."""
    name, method = evidence.view.architecture or "", evidence.drafter.method
    if name.startswith("DFlash") and method != "dflash":
        yield error(
            "drafter.method", f"it is {method}, and {name[:60]} is a DFlash drafter", "drafter.method: dflash", "dflash"
        )
    declared = evidence.view.raw.get("speculators_model_type")
    if declared in ("eagle3", "dflash") and declared != method:
        yield error(
            "drafter.method", f"it is {method}, the config says {declared}", f"drafter.method: {declared}", declared
        )


@rule("dflash2-pairs")
def half_a_pair(evidence: Evidence) -> Iterator[Finding]:
    """A DFlash2 drafter's settings come in pairs."""
    for pair in _PAIRS:
        given = [key for key in pair if evidence.view.nested.get(key) is not None]
        if len(given) == 1:
            lacking = next(key for key in pair if key not in given)
            yield error(
                f"dflash_config.{lacking}",
                f"{given[0]} is given without it",
                "take it from the published config of the same revision",
            )


@rule("engine-dflash", engines="before 0.20")
def engine_without_dflash(evidence: Evidence) -> Iterator[Finding]:
    """vLLM knows DFlash since 0.20."""
    if evidence.engine.dflash is False:
        yield error(
            "drafter.method",
            f"engine {evidence.engine.version} does not know dflash",
            "engine.source: release:0.33.0",
        )


@rule("engine-dflash2", engines="before 0.28")
def engine_without_dflash2(evidence: Evidence) -> Iterator[Finding]:
    """vLLM runs DFlash2 drafters since 0.28."""
    if evidence.view.generation == "dflash2" and evidence.engine.dflash2 is False:
        yield error(
            "architectures",
            f"engine {evidence.engine.version} does not know DFlash2 drafters; no edit of the config helps",
            "engine.source: release:0.33.0",
        )


def _short(value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."


_MARKS = frozenset(
    {"architectures", "model_type", "dflash_config", "hidden_size", "num_hidden_layers", "speculators_model_type"}
)
"""A config that has none of them is another kind of file."""


@rule("config-recognisable", methods=WITH_WEIGHTS)
def nothing_of_a_drafter(evidence: Evidence) -> Iterator[Finding]:
    """A JSON object is a drafter's config only when it says something about a model."""
    raw = evidence.view.raw
    if raw and not _MARKS & raw.keys():
        keys = ", ".join(sorted(raw)[:4])
        yield error(
            "architectures",
            f"this is no drafter's config: it has {keys} and nothing about a model",
            "give the drafter's config.json",
        )


RULES = (
    nothing_of_a_drafter,
    wrong_types,
    no_dflash_config,
    architecture,
    another_method,
    half_a_pair,
    engine_without_dflash,
    engine_without_dflash2,
)
