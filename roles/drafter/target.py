"""What of a target's config a drafter must fit."""

from collections.abc import Mapping
from dataclasses import dataclass

from roles.drafter import values

_MTP_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")


@dataclass(frozen=True)
class TargetView:
    """The fields of a target's config that a drafter must fit; None where they are not readable.

    used_ids:   token ids that the target's config gives a meaning: eos, pad, bos -> the name of that meaning
    mtp_layers: layers for multi-token prediction; 0 when the config names none
    epsilon:    rms_norm_eps
    quantised:  how, where its config says so
    positions:  max_position_embeddings
    """

    layers: int | None = None
    hidden: int | None = None
    vocab: int | None = None
    rope_theta: float | None = None
    used_ids: Mapping[int, str] | None = None
    mtp_layers: int = 0
    epsilon: float | None = None
    quantised: str | None = None
    architectures: tuple[str, ...] | None = None
    positions: int | None = None


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
        mtp_layers=next((count for key in _MTP_LAYERS if (count := values.integer(body, key))), 0),
        epsilon=values.number(body, "rms_norm_eps"),
        quantised=_quantised(config, body),
        architectures=values.texts(config, "architectures"),
        positions=values.integer(body, "max_position_embeddings"),
    )


def _quantised(*places: Mapping[str, object]) -> str | None:
    for place in places:
        settings = place.get("quantization_config")
        if isinstance(settings, dict) and settings:
            return values.text(settings, "quant_method") or "quantization_config"
    return None
