"""What the names and shapes of a drafter's tensors give away, without its config."""

import re
from typing import Literal

from roles.drafter.header import Header

_LAYER = re.compile(r"layers\.(\d{1,6})\.")
_SIGNS: tuple[tuple[Literal["dflash2", "dspark"], tuple[str, ...]], ...] = (
    ("dspark", ("markov", "confidence_head")),
    ("dflash2", ("conv", "selector")),
)


def plain(name: str) -> str:
    """A tensor's name without the prefix that some exports have."""
    return name.removeprefix("model.")


def layer_numbers(header: Header | None) -> set[int]:
    """Numbers of the drafter's own layers."""
    if header is None:
        return set()
    found = (_LAYER.match(plain(name)) for name in header.tensors)
    return {int(match[1]) for match in found if match}


def is_plain(header: Header) -> bool:
    """Whether the tensors are named as z-lab names them; fused and renamed variants are not judged by shape."""
    have = {plain(name) for name in header.tensors}
    return "fc.weight" in have and "layers.0.self_attn.q_proj.weight" in have


def generation(header: Header) -> Literal["dflash", "dflash2", "dspark"] | None:
    """Which family of drafters the tensors are of; None for one that is of none of them."""
    if not is_plain(header):
        return None
    for family, words in _SIGNS:
        if any(word in name for name in header.tensors for word in words):
            return family
    return "dflash" if shape(header, "hidden_norm.weight") else None


def shape(header: Header, name: str) -> tuple[int, ...] | None:
    """Shape of a tensor, whatever prefix it has."""
    return header.shape(name) or header.shape(f"model.{name}")


def is_biased(header: Header) -> bool:
    """Whether attention has biases."""
    return any(name.endswith("q_proj.bias") for name in header.tensors)


def captured(header: Header, width: int | None) -> int | None:
    """How many layers of a target of that width the drafter listens to; None when the width does not fit."""
    found = shape(header, "fc.weight")
    if not width or found is None or len(found) != 2 or found[1] == 0 or found[1] % width:
        return None
    return found[1] // width


def sizes(header: Header) -> dict[str, int]:
    """Sizes by their name in a config: PyTorch's linear layers are [out, in]."""

    def side(name: str, axis: int) -> int | None:
        found = shape(header, name) or ()
        return found[axis] if axis < len(found) else None

    head = side("layers.0.self_attn.q_norm.weight", 0)
    queries, keys = side("layers.0.self_attn.q_proj.weight", 0), side("layers.0.self_attn.k_proj.weight", 0)
    found = {
        "hidden_size": side("fc.weight", 0),
        "intermediate_size": side("layers.0.mlp.gate_proj.weight", 0),
        "head_dim": head,
        "num_attention_heads": queries // head if head and queries else None,
        "num_key_value_heads": keys // head if head and keys else None,
    }
    return {key: size for key, size in found.items() if size is not None}
