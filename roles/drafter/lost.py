"""What of a drafter's config cannot be recovered from its weights."""

from collections.abc import Iterator, Sequence

from roles.drafter import shapes
from roles.drafter.check import Unknowable
from roles.drafter.header import Header
from roles.drafter.known import KnownDrafter
from roles.drafter.mask_candidates import Candidate
from roles.drafter.target import TargetView


def lost(
    header: Header,
    target: TargetView,
    published: Sequence[KnownDrafter],
    masks: Sequence[Candidate],
    *,
    sure: bool,
) -> Iterator[Unknowable]:
    """Say it, and what was done about it.

    published: drafters that this one can be; `sure` when it is that one
    masks:     candidates for the mask token
    """
    family = shapes.generation(header)
    if target.layers is None or target.hidden is None:
        yield Unknowable("target", "its config was not given: neither the layers nor the vocabulary can be inferred")
    if family is None:
        yield Unknowable("architectures", "the tensors are not named as DFlash drafters' are: only sizes were read")
    if not sure:
        yield from _lost_ids(header, family, target, published)
        tried = ", ".join(str(one.token) for one in masks[:4]) or "none is known"
        yield Unknowable("dflash_config.mask_token_id", f"it is not in the weights; candidates: {tried}")
        yield Unknowable("layer_types", "neither they nor a window are in the weights: a wrong guess halves acceptance")
        yield Unknowable("block_size", "it is not in the weights; no engine reads it, but it bounds the tokens")
        yield Unknowable("model.path", "shapes cannot tell targets of one size apart")
    theta = f"the target's {target.rope_theta:g} was taken" if target.rope_theta is not None else "it was left out"
    yield Unknowable("rope_theta", f"it is not in the weights; {theta}")


def _lost_ids(
    header: Header, family: str | None, target: TargetView, published: Sequence[KnownDrafter]
) -> Iterator[Unknowable]:
    count = shapes.captured(header, target.hidden)
    if family in ("dflash2", "dspark"):
        name = "DFlash2" if family == "dflash2" else "DSpark"
        lists = {one.repository: one.fields.get("target_layer_ids") for one in published}
        known_lists = "; ".join(f"{name} has {list(ids)}" for name, ids in lists.items() if isinstance(ids, tuple))
        yield Unknowable(
            "dflash_config.target_layer_ids",
            f"not this formula: {name} drafters do not follow that of DFlash ({count or '?'} layers by fc.weight)"
            + (f"; {known_lists}, if it is that one" if known_lists else ""),
        )
    elif target.hidden is not None and count is None:
        yield Unknowable(
            "dflash_config.target_layer_ids",
            f"fc.weight is no multiple of the target's hidden size {target.hidden}: another target's drafter",
        )
    elif count is not None:
        yield Unknowable(
            "dflash_config.target_layer_ids",
            f"the weights tell that they are {count}, not which: the formula's are a proposal to be measured",
        )
