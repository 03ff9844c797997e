"""Rules about sizes: within the drafter's config, and against the target's."""

from collections.abc import Iterator

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import WITH_WEIGHTS, error, rule, warning
from roles.drafter.values import integer, mapping, number
from roles.drafter.view import QWEN3_DEFAULTS

_SIZES_OF_ATTENTION = ("num_attention_heads", "num_key_value_heads")


@rule("defaults")
def left_to_defaults(evidence: Evidence) -> Iterator[Finding]:
    """A size that is left out becomes the config class's default, not an error."""
    for key, default in QWEN3_DEFAULTS.items():
        if evidence.view.body.get(key) is None:
            yield warning(
                key,
                f"it is left out, and the engine takes {default}",
                "take it from the published config of the same revision",
            )


@rule("positive")
def not_positive(evidence: Evidence) -> Iterator[Finding]:
    """Sizes are positive."""
    for key in QWEN3_DEFAULTS:
        size = evidence.view.size(key)
        if size is not None and size <= 0:
            yield error(key, f"{size} is no size", "take it from the published config of the same revision")


@rule("heads")
def heads(evidence: Evidence) -> Iterator[Finding]:
    """Attention heads come in whole groups for each key/value head."""
    many, few = (evidence.view.effective(key) for key in _SIZES_OF_ATTENTION)
    if many and few and few > 0 and many % few:
        yield error(
            "num_key_value_heads", f"{many} heads are no multiple of {few}", "compare with the published config"
        )


@rule("num-target-layers")
def layers_of_another_target(evidence: Evidence) -> Iterator[Finding]:
    """num_target_layers is the target's number of layers."""
    layers = evidence.target.layers if evidence.target else None
    for config, field in (
        (evidence.view.raw, "num_target_layers"),
        (evidence.view.nested, "dflash_config.num_target_layers"),
    ):
        met = integer(config, "num_target_layers")
        if layers is not None and met is not None and met != layers:
            yield error(
                field,
                f"the drafter was trained on a target with {met} layers, this one has {layers}",
                "serve the target that this drafter was made for",
                layers,
            )


@rule("hidden-size", methods=frozenset({"dflash", "eagle", "eagle3"}))
def another_width(evidence: Evidence) -> Iterator[Finding]:
    """A drafter without an embedding of its own is as wide as its target."""
    hidden, wide = evidence.view.size("hidden_size"), evidence.target.hidden if evidence.target else None
    captured = evidence.view.size("target_hidden_size")
    own = evidence.header is not None and evidence.header.shape("embed_tokens.weight") is not None
    if captured is not None and wide is not None and captured != wide:
        yield error(
            "target_hidden_size", f"{captured} here, {wide} in the target", "this drafter is for another target", wide
        )
    elif hidden is not None and wide is not None and captured is None and hidden != wide and not own:
        yield error(
            "hidden_size",
            f"{hidden} here, {wide} in the target whose embedding it uses: the first request fails",
            "this drafter is for another target",
            wide,
        )


@rule("vocab-size", methods=WITH_WEIGHTS)
def another_vocabulary(evidence: Evidence) -> Iterator[Finding]:
    """Drafter and target number the same tokens; a smaller draft_vocab_size is a mapped subset and right."""
    met, rows = evidence.view.size("vocab_size"), evidence.target.vocab if evidence.target else None
    subset = evidence.view.size("draft_vocab_size") is not None
    if met is not None and rows is not None and met != rows and not subset:
        yield error(
            "vocab_size",
            f"{met} here, {rows} in the target: the same ids mean different text",
            "take a drafter of the target's own family",
            rows,
        )


@rule("rope-missing")
def no_rope_theta(evidence: Evidence) -> Iterator[Finding]:
    """Without rope_theta the engine takes 1000000."""
    view = evidence.view
    if view.rope_theta is None and view.body.get("rope_theta") is None:
        likely = evidence.target.rope_theta if evidence.target else None
        yield warning(
            "rope_theta",
            "it is left out, and the engine takes 1000000; it cannot be read from the weights",
            f"the target has {likely:.0f}" if likely else "take it from the published config of the same revision",
            likely,
        )


@rule("rope-twice")
def two_rope_thetas(evidence: Evidence) -> Iterator[Finding]:
    """rope_theta and rope_parameters.rope_theta say the same."""
    top = number(evidence.view.body, "rope_theta")
    inner = number(mapping(evidence.view.body.get("rope_parameters")), "rope_theta")
    if top is not None and inner is not None and top != inner:
        yield warning("rope_theta", f"{top:g} here, {inner:g} in rope_parameters", "keep the one that is right")


@rule("rope-target")
def unlike_the_targets_rope(evidence: Evidence) -> Iterator[Finding]:
    """A drafter usually has its target's rope_theta."""
    mine, its = evidence.view.rope_theta, evidence.target.rope_theta if evidence.target else None
    if mine is not None and its is not None and mine != its:
        yield warning(
            "rope_theta",
            f"{mine:g} here, {its:g} in the target: a wrong one lowers acceptance with no error",
            "compare with the published config of the same revision",
            its,
        )


@rule("max-positions", methods=WITH_WEIGHTS, engines="0.29-0.32 crash, others stop drafting")
def shorter_than_the_context(evidence: Evidence) -> Iterator[Finding]:
    """A drafter reaches as far as the served context."""
    reach = evidence.view.size("max_position_embeddings")
    length = evidence.server.max_model_len if evidence.server else None
    if reach is not None and length is not None and reach < length:
        yield warning(
            "max_position_embeddings",
            f"{reach} here, server.max_model_len is {length}: longer requests crash some engines, or are not drafted",
            f"server.max_model_len: {reach}, or engine 0.33.0, which extends the drafter",
            length,
        )


RULES = (
    left_to_defaults,
    not_positive,
    heads,
    layers_of_another_target,
    another_width,
    another_vocabulary,
    no_rope_theta,
    two_rope_thetas,
    unlike_the_targets_rope,
    shorter_than_the_context,
)
