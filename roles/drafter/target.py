"""What of a target's config a drafter must fit."""

from collections.abc import Mapping
from dataclasses import dataclass

from roles.drafter import values


@dataclass(frozen=True)
class TargetView:
    """The fields of a target's config that a drafter must fit; None where they are not readable.

    used_ids: token ids that the target's config gives a meaning: eos, pad, bos -> the name of that meaning
    """

    layers: int | None = None
    hidden: int | None = None
    vocab: int | None = None
    rope_theta: float | None = None
    used_ids: Mapping[int, str] | None = None


def target_view(config: Mapping[str, object] | None) -> TargetView | None:
    """Read a target's config; of one that also sees or hears, the text part (text_config)."""
    if config is None:
        return None
    inner = config.get("text_config")
    body = {**config, **inner} if isinstance(inner, dict) else config
    used: dict[int, str] = {}
    for key in ("pad_token_id", "bos_token_id", "eos_token_id"):
        found = values.integer(body, key)
        for token in (found,) if found is not None else values.integers(body, key) or ():
            used[token] = key
    theta = values.number(body, "rope_theta")
    return TargetView(
        layers=values.integer(body, "num_hidden_layers"),
        hidden=values.integer(body, "hidden_size"),
        vocab=values.integer(body, "vocab_size"),
        rope_theta=values.number(values.mapping(body.get("rope_parameters")), "rope_theta") if theta is None else theta,
        used_ids=used,
    )
