"""A drafter's config from its weights' header and its target, as far as they tell; each value says where it is from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from roles.drafter import known, shapes
from roles.drafter.check import Unknowable
from roles.drafter.facts import DrafterFacts
from roles.drafter.header import Header
from roles.drafter.known import KnownDrafter
from roles.drafter.layer_ids import predicted
from roles.drafter.lost import lost
from roles.drafter.mask_candidates import Candidate, candidates
from roles.drafter.target import TargetView, target_view
from roles.drafter.view import view

How = Literal["kept", "read", "published", "inferred", "assumed"]
"""kept: the config at hand had it; read: from the weights or the target, certain; published: from the table of known
drafters; inferred: by the formula that published drafters follow; assumed: usual, and no more."""

CERTAIN = frozenset({"kept", "read"})

MARK = "_specrail"
"""The key under which an inferred config says where its values are from. Engines keep unknown keys and read none."""

_ARCHITECTURES = {"dflash": "DFlashDraftModel", "dflash2": "DFlash2DraftModel"}
_TORCH = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}
_USUAL_BLOCK = 16


@dataclass(frozen=True)
class Value:
    """One value of the config. field is a dotted key."""

    field: str
    value: object
    how: How
    why: str


@dataclass(frozen=True)
class Inference:
    """What came of it.

    values: in the order of the config; those of one field are one
    masks:  candidates for the mask token, the one that was taken first
    lost:   what cannot be recovered, with what was done about it
    """

    values: tuple[Value, ...]
    masks: tuple[Candidate, ...]
    lost: tuple[Unknowable, ...]
    base: Mapping[str, object]

    @property
    def config(self) -> dict[str, object]:
        """The whole config, with every value marked that was neither kept nor read."""
        config: dict[str, object] = dict(self.base)
        marks: dict[str, dict[str, str]] = {}
        for value in self.values:
            outer, _, inner = value.field.rpartition(".")
            if outer:
                below = config.get(outer)
                config[outer] = {**(below if isinstance(below, dict) else {}), inner: value.value}
            else:
                config[inner] = value.value
            if value.how not in CERTAIN:
                marks.setdefault(value.how, {})[value.field] = value.why
        return {**config, MARK: {how: marks[how] for how in sorted(marks)}}

    @property
    def missing(self) -> tuple[str, ...]:
        """Fields without which the engine does not start or guesses, and that nothing is known of."""
        have = {value.field for value in self.values}
        return tuple(
            field
            for field in ("architectures", "dflash_config.mask_token_id", "dflash_config.target_layer_ids")
            if field not in have
        )


def infer(
    header: Header,
    have: DrafterFacts,
    *,
    names: Sequence[str] = (),
    repository: str | None = None,
    revision: str | None = None,
) -> Inference:
    """Make a config for weights with that header.

    have:       the target's config and tokenizer, and the drafter's own config where there is one: its values are kept
                unless the weights say otherwise
    names:      of the folders of both: they can tell published drafters of one size apart
    repository: where the weights come from, if that is known
    """
    target = target_view(have.target_config) or TargetView()
    family = shapes.generation(header)
    layers = len(shapes.layer_numbers(header))
    published = known.drafters(repository, revision)
    sure = len(published) == 1
    if not published:
        published = _lookalikes(family, layers, target, names)
    base = have.drafter_config or {}
    masks = candidates(target.vocab, have.added_tokens, published, known.family(target.vocab))
    found = [
        *_from_weights(header, family, layers, target),
        *_from_target(target),
        *_from_published(published, sure=sure),
        *_from_formula(header, family, target),
        *_usual(published, layers, masks),
    ]
    return Inference(
        values=tuple(_settled(found, base)),
        masks=masks,
        lost=tuple(lost(header, target, published, masks, sure=sure)),
        base=base,
    )


def _lookalikes(family: str | None, layers: int, target: TargetView, names: Sequence[str]) -> tuple[KnownDrafter, ...]:
    if family is None:
        return ()
    shaped = view({"architectures": [_ARCHITECTURES.get(family, family)], "num_hidden_layers": layers})
    alike = known.lookalikes(shaped, target.layers, target.hidden, target.vocab)
    words = [name.lower() for name in names if name]
    named = tuple(one for one in alike if any(_is_named(one, word) for word in words))
    return named or alike


def _is_named(one: KnownDrafter, word: str) -> bool:
    """Whether a folder's name is the drafter's own, or its target's."""
    name = one.repository.rpartition("/")[2].lower()
    return word == name or name.startswith((f"{word}-dflash", f"{word}-dspark"))


def _from_weights(header: Header, family: str | None, layers: int, target: TargetView) -> Iterator[Value]:
    if family in _ARCHITECTURES:
        yield Value("architectures", [_ARCHITECTURES[family]], "read", "the tensors' names")
    if not shapes.is_plain(header):
        return
    sizes = shapes.sizes(header)
    for key, size in sizes.items():
        yield Value(key, size, "read", "the tensors' shapes")
    yield Value("num_hidden_layers", layers, "read", "the tensors' names")
    yield Value("attention_bias", shapes.is_biased(header), "read", "the tensors' names")
    if (
        target.hidden is not None
        and shapes.captured(header, target.hidden)
        and sizes.get("hidden_size") != target.hidden
    ):
        yield Value("target_hidden_size", target.hidden, "read", "fc.weight's width")
    tensor = header.tensors.get("fc.weight") or header.tensors.get("model.fc.weight")
    if tensor is not None and tensor.dtype in _TORCH:
        yield Value("torch_dtype", _TORCH[tensor.dtype], "read", "the tensors' types")
    head = shapes.shape(header, "lm_head.weight")
    if head and target.vocab is not None and head[0] != target.vocab:
        yield Value("draft_vocab_size", head[0], "read", "lm_head.weight's rows")


def _from_target(target: TargetView) -> Iterator[Value]:
    for key, value in (("vocab_size", target.vocab), ("num_target_layers", target.layers)):
        if value is not None:
            yield Value(key, value, "read", "the target's config")
    for key, number in (("rms_norm_eps", target.epsilon), ("rope_theta", target.rope_theta)):
        if number is not None:
            whole = int(number) if number.is_integer() else number
            yield Value(key, whole, "assumed", "the target's: drafters usually have it")
    if target.positions is not None:
        yield Value(
            "max_position_embeddings", target.positions, "assumed", "the target's: the drafter must reach as far"
        )


def _from_published(published: Sequence[KnownDrafter], *, sure: bool) -> Iterator[Value]:
    """What all drafters that this can be agree on."""
    for name, field in _PUBLISHED.items():
        values = {one.fields.get(name) for one in published}
        value = next(iter(values), None)
        if len(values) != 1 or value is None or (name == "target_layer_ids" and not sure):
            continue
        said = " and ".join(sorted({one.repository for one in published}))
        plain = list(value) if isinstance(value, tuple) else value
        how: How = "published" if sure else "assumed"
        yield Value(field, plain, how, f"{said} has it" if sure else f"{said}, for a target of this size, has it")


def _from_formula(header: Header, family: str | None, target: TargetView) -> Iterator[Value]:
    count = shapes.captured(header, target.hidden)
    ids = predicted(target.layers, count) if family == "dflash" and count and target.layers else None
    if ids is not None:
        yield Value(
            "dflash_config.target_layer_ids",
            list(ids),
            "inferred",
            f"{count} layers by fc.weight, of {target.layers}: round(1 + i*(T-4)/(n-1)), as every published DFlash has",
        )


def _usual(published: Sequence[KnownDrafter], layers: int, masks: Sequence[Candidate]) -> Iterator[Value]:
    if masks:
        yield Value("dflash_config.mask_token_id", masks[0].token, "assumed", "; ".join(masks[0].reasons))
    yield Value("model_type", "qwen3", "assumed", "published DFlash drafters have it")
    yield Value("block_size", _USUAL_BLOCK, "assumed", "nearly all published DFlash drafters have it")
    if layers:
        others = sorted({one.repository for one in published if "sliding_window" in one.fields})
        but = f", but {' and '.join(others)} has sliding ones" if others else ""
        yield Value("layer_types", ["full_attention"] * layers, "assumed", f"what engines take without it{but}")


def _settled(found: Sequence[Value], base: Mapping[str, object]) -> Iterator[Value]:
    """One value a field, the first that was found; what the config at hand says, unless the weights contradict it."""
    chosen: dict[str, Value] = {}
    for value in found:
        chosen.setdefault(value.field, value)
    types = chosen.get("layer_types")
    if types is not None and isinstance(types.value, list) and "sliding_attention" in types.value:
        chosen["use_sliding_window"] = Value("use_sliding_window", True, types.how, "without it the window is dropped")
        chosen["max_window_layers"] = Value("max_window_layers", len(types.value), types.how, "the number of layers")
    else:
        chosen.pop("sliding_window", None)
    for value in chosen.values():
        given = _at(base, value.field)
        if given is None or (value.how == "read" and given != value.value):
            yield value if given is None else Value(value.field, value.value, "read", f"{value.why}; it was {given!r}")
        else:
            yield Value(value.field, given, "kept", "the config at hand")


def _at(config: Mapping[str, object], field: str) -> object:
    outer, _, inner = field.rpartition(".")
    place = config.get(outer) if outer else config
    return place.get(inner) if isinstance(place, Mapping) else None


_PUBLISHED = {
    "mask_token_id": "dflash_config.mask_token_id",
    "target_layer_ids": "dflash_config.target_layer_ids",
    "block_size": "block_size",
    "layer_types": "layer_types",
    "sliding_window": "sliding_window",
}
