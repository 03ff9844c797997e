"""A drafter's config as an engine reads it: where each value stands in each layout, and what it means."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from roles.drafter import values

Attention = Literal["sliding_attention", "full_attention"]

QWEN3_DEFAULTS = {
    "hidden_size": 4096,
    "intermediate_size": 22016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "head_dim": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
}
"""What transformers' Qwen3Config puts where a key is absent: no error, but a wrong size."""

COUNTED_FROM_ONE = frozenset(
    {"eagle_aux_hidden_state_layer_ids", "aux_hidden_state_layer_ids", "dflash_config.layer_ids"}
)
"""Fields whose layers are numbered "after layer i": one more than the output of layer i elsewhere."""

_MOST_LAYERS = 1024


@dataclass(frozen=True)
class View:
    """A drafter's config, read. `raw` is the whole of it; every other value is absent (None) when it is not readable.

    nested:      dflash_config
    body:        where the sizes stand: the config itself, transformer_layer_config in the speculators layout
    speculators: whether it is in the speculators layout
    ids:         target layers as 0-based "output of layer i", whatever the layout's own numbering is
    mask, ids, window and block each have a field beside them: where the value stands, or would have to
    """

    raw: Mapping[str, object]
    nested: Mapping[str, object]
    body: Mapping[str, object]
    speculators: bool
    architecture: str | None
    mask: int | None
    mask_field: str
    ids: tuple[int, ...] | None
    ids_field: str
    window: int | None
    window_field: str
    block: int | None
    block_field: str

    @property
    def generation(self) -> Literal["dflash", "dflash2", "dspark"] | None:
        """Which family of drafters it says it is of; None for one that is of none of them."""
        name = (self.architecture or "").lower()
        if "dspark" in name or "markov_rank" in self.nested:
            return "dspark"
        if "dflash2" in name or {"conv_kernel_size", "selector_rank"} & self.nested.keys():
            return "dflash2"
        if "dflash" in name or "dflash_config" in self.raw or self.raw.get("speculators_model_type") == "dflash":
            return "dflash"
        return None

    def size(self, key: str) -> int | None:
        """A size of the drafter's body as the config gives it."""
        return values.integer(self.body, key)

    def effective(self, key: str) -> int | None:
        """A size as the engine will take it: the config's, or its class's default."""
        given = self.size(key)
        return QWEN3_DEFAULTS.get(key) if given is None and self.body.get(key) is None else given

    @property
    def layers(self) -> int | None:
        """Number of the drafter's own layers, if it is a sane one."""
        count = self.effective("num_hidden_layers")
        return count if count is not None and 0 < count <= _MOST_LAYERS else None

    @property
    def layer_types(self) -> tuple[str, ...] | None:
        """layer_types as given."""
        return values.texts(self.body, "layer_types")

    @property
    def attention(self) -> tuple[str, ...] | None:
        """What each layer is trained as, by the config; gates that an engine falls over are not applied to it."""
        if self.body.get("layer_types") is not None:
            return self.layer_types
        if self.layers is None:
            return None
        if values.boolean(self.nested, "use_swa"):
            return ("sliding_attention",) * self.layers
        first = values.integer(self.body, "max_window_layers")
        slides = self.window is not None and values.boolean(self.body, "use_sliding_window") is True
        return tuple(
            "sliding_attention" if slides and index >= (28 if first is None else first) else "full_attention"
            for index in range(self.layers)
        )

    @property
    def slides(self) -> bool:
        """Whether any layer is a sliding one."""
        return "sliding_attention" in (self.attention or ())

    @property
    def mixed(self) -> bool:
        """Whether sliding and full layers stand side by side."""
        return len(set(self.attention or ())) > 1

    @property
    def rope_theta(self) -> float | None:
        """Base of the rotary embedding: at top level, or in rope_parameters."""
        top = values.number(self.body, "rope_theta")
        return values.number(values.mapping(self.body.get("rope_parameters")), "rope_theta") if top is None else top


def view(config: Mapping[str, object]) -> View:
    """Read a config of any layout."""
    nested = values.mapping(config.get("dflash_config"))
    layer_config = config.get("transformer_layer_config")
    speculators = isinstance(layer_config, dict)
    body = {**config, **layer_config} if isinstance(layer_config, dict) else config
    names = values.texts(config, "architectures") or ()
    mask, mask_field = _mask(config, nested, speculators)
    ids, ids_field = _ids(config, nested, speculators)
    swa = values.integer(nested, "swa_window_size")
    block = values.integer(config, "block_size")
    inner = values.integer(nested, "block_size")
    return View(
        raw=config,
        nested=nested,
        body=body,
        speculators=speculators,
        architecture=names[0] if names else None,
        mask=mask,
        mask_field=mask_field,
        ids=ids,
        ids_field=ids_field,
        window=values.integer(body, "sliding_window") if swa is None else swa,
        window_field="sliding_window" if swa is None else "dflash_config.swa_window_size",
        block=inner if block is None else block,
        block_field="dflash_config.block_size" if block is None and inner is not None else "block_size",
    )


def _mask(config: Mapping[str, object], nested: Mapping[str, object], speculators: bool) -> tuple[int | None, str]:
    """The mask token in the order in which vLLM looks for it."""
    if "mask_token_id" in nested:
        return values.integer(nested, "mask_token_id"), "dflash_config.mask_token_id"
    for key in ("mask_token_id", "dspark_noise_token_id", "pard_token", "ptd_token_id"):
        if config.get(key) is not None:
            return values.integer(config, key), key
    return None, "mask_token_id" if speculators else "dflash_config.mask_token_id"


def _ids(
    config: Mapping[str, object], nested: Mapping[str, object], speculators: bool
) -> tuple[tuple[int, ...] | None, str]:
    """The target's layers in vLLM's order of looking; those numbered "after layer i" are brought to 0-based."""
    if config.get("eagle_aux_hidden_state_layer_ids") is not None:
        return _one_less(
            values.integers(config, "eagle_aux_hidden_state_layer_ids")
        ), "eagle_aux_hidden_state_layer_ids"
    if nested.get("target_layer_ids") is not None:
        return values.integers(nested, "target_layer_ids"), "dflash_config.target_layer_ids"
    if speculators:
        return _one_less(values.integers(config, "aux_hidden_state_layer_ids")), "aux_hidden_state_layer_ids"
    for key in ("dspark_target_layer_ids", "target_layer_ids"):
        if config.get(key) is not None:
            return values.integers(config, key), key
    if nested.get("layer_ids") is not None:
        return _one_less(values.integers(nested, "layer_ids")), "dflash_config.layer_ids"
    return None, "dflash_config.target_layer_ids"


def _one_less(ids: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if ids is None else tuple(one - 1 for one in ids)
