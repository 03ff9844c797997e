"""How many of its drafted tokens a drafter gets accepted: what it was trained with against how this build runs it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from vllm.features import HONOURS_LAYER_TYPES, LAYER_ID_OFFSET
from vllm.files import ModelError, Target, Weights, read_config, read_weights

# What one wrong field leaves of each position's acceptance, measured on vLLM 0.23.0 with a trained drafter (k=15):
# rates of the wrong config over rates of the right one. The last factor holds for all later positions.
_USED_MASK_TOKEN = (0.97, 0.40, 0.18, 0.03, 0.02)
_UNUSED_MASK_TOKEN = (0.53, 0.29, 0.18, 0.17)
_LAYER_TYPES = (0.59, 0.38, 0.37, 0.33)
_GUESSED_LAYERS = (0.96, 0.89, 0.84, 0.76, 0.60, 0.40, 0.20, 0.10, 0.0)
_LAYERS_OFF_BY_ONE = (0.954,)
_ALL_THREE = (0.272, 0.0125, 0.0)


@dataclass(frozen=True)
class Training:
    """What the drafter's weights learnt, from the safetensors header's __metadata__.

    curves: unconditional acceptance per position, by the k that it was measured at
    """

    mask_token_id: int
    target_layer_ids: tuple[int, ...]
    layer_types: tuple[str, ...]
    sliding_window: int | None
    curves: Mapping[int, tuple[float, ...]]

    @classmethod
    def of(cls, weights: Weights) -> "Training | None":
        """Read the metadata; weights without any are random ones: None."""
        text = weights.metadata.get("specrail_lab")
        if text is None:
            return None
        values = json.loads(text)
        return cls(
            mask_token_id=values["mask_token_id"],
            target_layer_ids=tuple(values["target_layer_ids"]),
            layer_types=tuple(values["layer_types"]),
            sliding_window=values["sliding_window"],
            curves={int(k): tuple(rates) for k, rates in values["curves"].items()},
        )


@dataclass(frozen=True)
class Drafter:
    """A DFlash drafter as this build runs it: from config.json, as far as the build reads it.

    configured_layers: hidden states of the target that feed it, counted as the target counts them (0 = embeddings);
        None where the config names none
    """

    folder: Path
    architecture: str
    mask_token_id: int | None
    configured_layers: tuple[int, ...] | None
    layer_types: tuple[str, ...]
    sliding_window: int | None
    weights: Weights

    @classmethod
    def read(cls, folder: Path) -> "Drafter":
        """Read config and weights. Raises ModelError for what transformers or the weight loader refuse."""
        config = read_config(folder)
        layers = config.get("num_hidden_layers", 32)  # transformers' default for Qwen3
        types = config.get("layer_types") or ["full_attention"] * layers
        if len(types) != layers:
            raise ModelError(
                "StrictDataclassClassValidationError",
                "Class validation error for validator 'validate_layer_type':\n"
                f"    ValueError: `num_hidden_layers` ({layers}) must be equal to the number of `layer_types` "
                f"({len(types)})",
            )
        # transformers drops sliding_window unless use_sliding_window is true
        window = config.get("sliding_window") if config.get("use_sliding_window") else None
        if HONOURS_LAYER_TYPES and "sliding_attention" in types and window is None:
            raise ModelError("ValueError", "DFlash sliding attention requires a window size configured.")
        dflash = config.get("dflash_config") or {}
        ids = dflash.get("target_layer_ids")
        return cls(
            folder=folder,
            architecture=(config.get("architectures") or ["DFlashDraftModel"])[0],
            mask_token_id=dflash.get("mask_token_id", config.get("pard_token", config.get("ptd_token_id"))),
            configured_layers=tuple(i + LAYER_ID_OFFSET for i in ids) if ids else None,
            layer_types=tuple(types) if HONOURS_LAYER_TYPES else ("full_attention",) * layers,
            sliding_window=window,
            weights=_fitting(config, read_weights(folder), len(ids or range(layers))),
        )

    def aux_layers(self, target: Target) -> tuple[int, ...]:
        """Return the configured layers, or the three that the target's model class would pick."""
        return self.configured_layers or (2, target.layers // 2, target.layers - 3)

    def features(self, target: Target, aux_layers: tuple[int, ...]) -> int:
        """How many hidden features the target hands over: a layer that it does not have hands over none."""
        return sum(0 <= layer <= target.layers for layer in aux_layers) * target.hidden_size

    def rates(self, target: Target, aux_layers: tuple[int, ...], k: int) -> tuple[float, ...]:
        """Unconditional acceptance per position for k drafted tokens, with the layers that really feed the drafter."""
        training = Training.of(self.weights)
        if training is None:
            return (0.0,) * k
        costs = self._costs(training, aux_layers)
        if set(costs) >= {"mask", "layer types", "guessed layers"}:
            factors: list[tuple[float, ...]] = [_ALL_THREE]
        else:
            factors = [_FACTORS[cost] if cost != "mask" else self._mask_cost(target) for cost in costs]
        rates = curve(training.curves, k)
        for factor in factors:
            rates = tuple(
                rate * scale for rate, scale in zip_longest(rates, factor[: len(rates)], fillvalue=factor[-1])
            )
        return rates

    def _costs(self, training: Training, aux_layers: tuple[int, ...]) -> list[str]:
        costs = []
        if self.mask_token_id != training.mask_token_id:
            costs.append("mask")
        slides = "sliding_attention" in training.layer_types
        if self.layer_types != training.layer_types or (slides and self.sliding_window != training.sliding_window):
            costs.append("layer types")
        trained = tuple(i + 1 for i in training.target_layer_ids)
        if aux_layers != trained:
            pairs = zip_longest(aux_layers, trained, fillvalue=-2)
            near = all(abs(layer - right) <= 1 for layer, right in pairs)
            costs.append("layers off by one" if near else "guessed layers")
        return costs

    def _mask_cost(self, target: Target) -> tuple[float, ...]:
        used = self.mask_token_id is not None and self.mask_token_id <= target.last_used_token
        return _USED_MASK_TOKEN if used else _UNUSED_MASK_TOKEN


_FACTORS = {
    "layer types": _LAYER_TYPES,
    "guessed layers": _GUESSED_LAYERS,
    "layers off by one": _LAYERS_OFF_BY_ONE,
}


def curve(curves: Mapping[int, Sequence[float]], k: int) -> tuple[float, ...]:
    """Rates for k positions from those measured at two or more k: linear between them, the nearest beyond.

    A position that the nearest curve does not have was never trained and gets nothing.
    """
    below = max((known for known in curves if known <= k), default=min(curves))
    above = min((known for known in curves if known >= k), default=max(curves))
    weight = (k - below) / (above - below) if above > below else 0.0
    low, high = (list(curves[known]) + [0.0] * k for known in (below, above))
    if below < k:
        low[below:k] = high[below:k]
    return tuple(a + weight * (b - a) for a, b in zip(low[:k], high[:k], strict=True))


def _fitting(config: Mapping[str, Any], weights: Weights, taps: int) -> Weights:
    """Return the weights, if they fit the shapes that the config promises. Raises ModelError in the loader's words."""
    hidden = int(config.get("hidden_size", 4096))
    head_dim = int(config.get("head_dim", 128))
    first = "layers.0"
    expected = {
        "fc.weight": (hidden, taps * int(config.get("target_hidden_size", hidden))),
        f"{first}.self_attn.q_proj.weight": (int(config.get("num_attention_heads", 32)) * head_dim, hidden),
        f"{first}.self_attn.k_proj.weight": (int(config.get("num_key_value_heads", 32)) * head_dim, hidden),
        f"{first}.mlp.gate_proj.weight": (int(config.get("intermediate_size", 22016)), hidden),
    }
    for name, shape in expected.items():
        if weights.shapes.get(name) != shape:
            found = list(weights.shapes.get(name, ()))
            raise ModelError(
                "AssertionError",
                f"Tried to load weights of size torch.Size({found})to a parameter of size torch.Size({list(shape)})",
            )
    return weights
