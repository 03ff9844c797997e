"""What --speculative-config asks for, checked in the words of vLLM's SpeculativeConfig."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vllm.drafter import Drafter, curve
from vllm.features import BATCH_SIZE_TABLE
from vllm.files import ModelError, Target

_KEYS = (
    "method", "model", "num_speculative_tokens", "draft_tensor_parallel_size", "quantization", "max_model_len",
    "revision", "code_revision", "enforce_eager", "attention_backend", "disable_padded_drafter_batch",
    "draft_load_config", "rejection_sample_method", "prompt_lookup_max", "prompt_lookup_min", "parallel_drafting",
)  # fmt: skip
_TABLE = "num_speculative_tokens_per_batch_size"
_WITHOUT_DRAFTER: dict[str, Mapping[int, Sequence[float]]] = {
    "mtp": {6: (0.74, 0.473, 0.309, 0.187, 0.099, 0.057)},
    "ngram": {5: (0.31, 0.22, 0.17, 0.13, 0.10)},
}
"""Acceptance per position of the methods that bring no drafter of their own."""


@dataclass(frozen=True)
class Speculation:
    """A method and its drafter; k is the number of speculative tokens, table says it by batch size."""

    method: str
    k: int
    drafter: Drafter | None
    table: tuple[tuple[int, int, int], ...] = ()

    def rates(self, target: Target, aux_layers: tuple[int, ...]) -> tuple[float, ...]:
        """Unconditional acceptance per position."""
        if self.drafter is None:
            return curve(_WITHOUT_DRAFTER[self.method], self.k)
        return self.drafter.rates(target, aux_layers, self.k)


def read(config: Mapping[str, Any], tensor_parallel: int) -> Speculation:
    """Check the keys, then read the drafter. Raises ModelError."""
    for key in config:
        if key not in _KEYS and not (BATCH_SIZE_TABLE and key == _TABLE):
            raise ModelError("ValueError", f"{key}: Unexpected keyword argument")
    folder = config.get("model")
    method = config.get("method") or ("dflash" if "dflash" in str(folder).lower() else None)
    k = config.get("num_speculative_tokens")
    if method not in ("dflash", *_WITHOUT_DRAFTER):
        known = ", ".join(f"'{name}'" for name in ("dflash", *_WITHOUT_DRAFTER))
        raise ModelError("ValueError", f"method: Input should be {known} (got {method!r})")
    if k is None:
        raise ModelError(
            "ValueError", "A speculative model was provided, but `num_speculative_tokens` was not provided"
        )
    if not isinstance(k, int) or k < 1:
        raise ModelError("ValueError", f"num_speculative_tokens: Input should be greater than 0 (got {k!r})")
    ranks = config.get("draft_tensor_parallel_size")
    if ranks not in (None, 1, tensor_parallel):
        raise ModelError(
            "ValueError",
            f"speculative_draft_tensor_parallel_size={ranks} cannot be other value than 1 or target model "
            "tensor_parallel_size",
        )
    table = tuple(sorted((int(first), int(last), int(tokens)) for first, last, tokens in config.get(_TABLE) or ()))
    if table and table[0][0] != 1:
        raise ModelError(
            "ValueError",
            "The first batch-size range must start at 1 so every runtime batch size has a defined schedule.",
        )
    return Speculation(method, k, Drafter.read(Path(str(folder))) if method == "dflash" else None, table)
