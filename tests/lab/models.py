"""Models for the lab: folders that look like the published ones, with weights that are sparse files.

The drafters' weights say in their header what they were trained with. Only the stand-in engine reads that, and compares
it with the config.json that the drafter is run with: that is how the drafter earns its acceptance.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

CONFIGS = Path(__file__).parent / "drafters"
WRONG_CONFIG = CONFIGS / "wrong-qwen3.6-27b.json"
"""The drafter config of the field report: a used mask token, guessed layers, full attention everywhere."""

_ADDED_TOKENS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
]
"""The same 26 in both Qwen families, from pad on; the first id behind them is the drafters' mask token."""

_BF16_BYTES = 2


@dataclass(frozen=True)
class _Pair:
    """A target with its drafter. curves: acceptance per position by the k that it was measured at."""

    target: str
    target_config: Mapping[str, Any]
    first_added_token: int
    drafter: str
    drafter_config: str
    curves: Mapping[int, Sequence[float]]


_QWEN36_TEXT = {
    "model_type": "qwen3_5_text",
    "hidden_size": 5120,
    "num_hidden_layers": 64,
    "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 16,
    "num_attention_heads": 24,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "intermediate_size": 17408,
    "vocab_size": 248320,
    "max_position_embeddings": 262144,
    "rms_norm_eps": 1e-06,
    "rope_theta": 10000000,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000000},
    "tie_word_embeddings": False,
    "eos_token_id": 248046,
    "pad_token_id": 248044,
}
_QWEN36 = _Pair(
    target="Qwen3.6-27B",
    target_config={
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "model_type": "qwen3_5",
        "text_config": _QWEN36_TEXT,
        "vision_config": {"model_type": "qwen3_5_vision", "depth": 27, "hidden_size": 1152},
        "tie_word_embeddings": False,
    },
    first_added_token=248044,
    drafter="Qwen3.6-27B-DFlash",
    drafter_config="qwen3.6-27b.json",
    curves={
        15: (0.72, 0.485, 0.30, 0.185, 0.105, 0.042, 0.027, 0.015, 0.008, 0.005, 0.003, 0.002, 0.0015, 0.001, 0.0008),
        5: (0.78, 0.54, 0.37, 0.245, 0.16),
    },
)
_QWEN3 = _Pair(
    target="Qwen3-8B",
    target_config={
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": 4096,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": 12288,
        "vocab_size": 151936,
        "max_position_embeddings": 40960,
        "rms_norm_eps": 1e-06,
        "rope_theta": 1000000,
        "tie_word_embeddings": False,
        "eos_token_id": 151645,
    },
    first_added_token=151643,
    drafter="Qwen3-8B-DFlash-b16",
    drafter_config="qwen3-8b-b16.json",
    curves={
        15: (0.80, 0.62, 0.48, 0.37, 0.28, 0.21, 0.16, 0.12, 0.09, 0.07, 0.05, 0.04, 0.03, 0.02, 0.015),
        5: (0.82, 0.65, 0.51, 0.40, 0.31),
    },
)


def make(folder: Path) -> None:
    """Write Qwen3.6-27B and Qwen3-8B, each with its drafter, below `folder`; what is there already is replaced."""
    for pair in (_QWEN36, _QWEN3):
        _make_target(folder / pair.target, pair)
        _make_drafter(folder / pair.drafter, pair)


def shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a DFlash drafter's tensors, as published: 11 a layer and 3; embeddings are the target's."""
    hidden, inner, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    taps = len(config["dflash_config"]["target_layer_ids"])
    tensors = {
        "fc.weight": (hidden, taps * hidden),
        "hidden_norm.weight": (hidden,),
        "norm.weight": (hidden,),
    }
    for number in range(config["num_hidden_layers"]):
        layer = {
            "input_layernorm": (hidden,),
            "post_attention_layernorm": (hidden,),
            "self_attn.q_proj": (queries, hidden),
            "self_attn.k_proj": (keys, hidden),
            "self_attn.v_proj": (keys, hidden),
            "self_attn.o_proj": (hidden, queries),
            "self_attn.q_norm": (head,),
            "self_attn.k_norm": (head,),
            "mlp.gate_proj": (inner, hidden),
            "mlp.up_proj": (inner, hidden),
            "mlp.down_proj": (hidden, inner),
        }
        tensors |= {f"layers.{number}.{name}.weight": shape for name, shape in layer.items()}
    return tensors


def write_weights(path: Path, tensors: Mapping[str, Sequence[int]], metadata: Mapping[str, str]) -> None:
    """Write a safetensors file of bf16 tensors: a true header, and a hole of the right size for the data."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, shape in tensors.items():
        begin, end = end, end + _BF16_BYTES * prod(shape)
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)


def _make_target(folder: Path, pair: _Pair) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokens = {
        pair.first_added_token + i: {"content": content, "special": content.startswith("<|")}
        for i, content in enumerate(_ADDED_TOKENS)
    }
    _write(folder / "config.json", pair.target_config)
    _write(
        folder / "tokenizer.json",
        {
            "version": "1.0",
            "added_tokens": [{"id": number, **token} for number, token in tokens.items()],
            "model": {"type": "BPE", "vocab": {"!": 0, '"': 1, "#": 2}, "merges": []},
        },
    )
    _write(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "Qwen2Tokenizer",
            "added_tokens_decoder": {str(number): token for number, token in tokens.items()},
            "pad_token": "<|endoftext|>",
            "eos_token": "<|im_end|>",
            "bos_token": None,
        },
    )


def _make_drafter(folder: Path, pair: _Pair) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    config = json.loads((CONFIGS / pair.drafter_config).read_text())
    training = {
        "mask_token_id": config["dflash_config"]["mask_token_id"],
        "target_layer_ids": config["dflash_config"]["target_layer_ids"],
        "layer_types": config["layer_types"],
        "sliding_window": config.get("sliding_window"),
        "curves": {str(k): list(rates) for k, rates in pair.curves.items()},
    }
    _write(folder / "config.json", config)
    write_weights(folder / "model.safetensors", shapes(config), {"format": "pt", "specrail_lab": json.dumps(training)})


def _write(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n")
