"""Headers of made-up weights: shapes as published DFlash drafters have them, no bytes behind."""

import json
from typing import Any

from roles.drafter.header import Header, read


def shapes(
    *,
    layers: int = 5,
    hidden: int = 5120,
    target_hidden: int | None = None,
    count: int = 5,
    heads: int = 32,
    kv_heads: int = 8,
    head_dim: int = 128,
    intermediate: int = 17408,
) -> dict[str, list[int]]:
    """Names and shapes of a DFlash drafter in z-lab's layout (11 tensors a layer and 3)."""
    queries, keys = heads * head_dim, kv_heads * head_dim
    found = {
        "fc.weight": [hidden, count * (target_hidden or hidden)],
        "hidden_norm.weight": [hidden],
        "norm.weight": [hidden],
    }
    for number in range(layers):
        for name, shape in {
            "input_layernorm": [hidden],
            "post_attention_layernorm": [hidden],
            "self_attn.q_proj": [queries, hidden],
            "self_attn.k_proj": [keys, hidden],
            "self_attn.v_proj": [keys, hidden],
            "self_attn.o_proj": [hidden, queries],
            "self_attn.q_norm": [head_dim],
            "self_attn.k_norm": [head_dim],
            "mlp.gate_proj": [intermediate, hidden],
            "mlp.up_proj": [intermediate, hidden],
            "mlp.down_proj": [hidden, intermediate],
        }.items():
            found[f"layers.{number}.{name}.weight"] = shape
    return found


def encode(tensors: dict[str, list[int]], dtype: str = "BF16", **metadata: str) -> tuple[bytes, int]:
    """The first bytes of a safetensors file with these tensors, and the size of the whole file."""
    entries: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    end = 0
    width = 4 if dtype == "F32" else 2
    for name, shape in tensors.items():
        size = width
        for side in shape:
            size *= side
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    body = json.dumps(entries).encode()
    return len(body).to_bytes(8, "little") + body, 8 + len(body) + end


def header(case: dict[str, Any]) -> Header:
    """The header that a data case describes: sizes, and under "drop", "add", "dtype", "cut" what is odd about it."""
    odd = {key: case[key] for key in ("drop", "add", "dtype", "cut") if key in case}
    tensors = shapes(**{key: value for key, value in case.items() if key not in odd})
    tensors = {name: shape for name, shape in tensors.items() if name not in odd.get("drop", ())} | odd.get("add", {})
    data, size = encode(tensors, odd.get("dtype", "BF16"))
    return read(data, size - odd.get("cut", 0))
