"""Rules about the target layers that a drafter listens to."""

from collections.abc import Iterator
from itertools import pairwise

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.layer_ids import predicted
from roles.drafter.rules.rule import error, info, rule, warning
from roles.drafter.values import mapping

_RESTORE = "take them from the published config of the same revision"


@rule("ids-missing")
def missing(evidence: Evidence) -> Iterator[Finding]:
    """Without target layers engines guess: the count fits, the layers do not."""
    view = evidence.view
    parent, _, key = view.ids_field.rpartition(".")
    if view.ids is not None or (mapping(view.raw.get(parent)) if parent else view.raw).get(key) is not None:
        return
    yield error(
        view.ids_field,
        "there are no target layers: engines guess, weights load, and acceptance collapses without an error",
        f"{_RESTORE}; a formula can only propose them",
        evidence.settled("target_layer_ids"),
    )


@rule("ids-order")
def not_increasing(evidence: Evidence) -> Iterator[Finding]:
    """Target layers are different, increasing and not negative."""
    ids = evidence.view.ids
    if ids is None:
        return
    if not ids:
        yield error(evidence.view.ids_field, "the list is empty", _RESTORE, evidence.settled("target_layer_ids"))
    elif min(ids) < 0 or any(after <= before for before, after in pairwise(ids)):
        yield error(
            evidence.view.ids_field,
            f"{_list(ids)} is not strictly increasing from 0 on",
            _RESTORE,
            evidence.settled("target_layer_ids"),
        )


@rule("ids-range")
def out_of_range(evidence: Evidence) -> Iterator[Finding]:
    """Each target layer must be one of the target's."""
    ids, layers = evidence.view.ids, evidence.target_layers
    if ids and layers is not None and max(ids) >= layers:
        yield error(
            evidence.view.ids_field,
            f"layer {max(ids)} is wanted, the target has 0 to {layers - 1}: the first request fails",
            "this drafter is for another target, or its ids are numbered from 1",
            evidence.settled("target_layer_ids"),
        )


@rule("ids-count-weights")
def count_in_the_weights(evidence: Evidence) -> Iterator[Finding]:
    """The number of target layers is fixed by fc.weight: its width is that many times the target's."""
    ids, width = evidence.view.ids, evidence.target_hidden
    shape = evidence.header.shape("fc.weight") if evidence.header else None
    if shape is None or len(shape) != 2 or not width:
        return
    count, rest = divmod(shape[1], width)
    if rest:
        yield error(
            "weights",
            f"fc.weight is {shape[1]} wide, no multiple of the target's hidden size {width}",
            "this drafter is for a target of another width",
        )
    elif ids is not None and len(ids) != count:
        yield error(
            evidence.view.ids_field,
            f"{len(ids)} layers are listed, the weights were trained on {count}",
            _RESTORE,
            evidence.settled("target_layer_ids"),
        )


@rule("ids-count-layers")
def count_unlike_the_layers(evidence: Evidence) -> Iterator[Finding]:
    """As many target layers as drafter layers is usual, another number legal."""
    ids, layers = evidence.view.ids, evidence.view.size("num_hidden_layers")
    if ids and layers is not None and len(ids) != layers and evidence.settled("target_layer_ids") != ids:
        yield info(
            evidence.view.ids_field,
            f"{len(ids)} target layers for {layers} drafter layers: unusual, and legal",
            "compare with the published config",
        )


@rule("ids-formula")
def not_as_others_are_made(evidence: Evidence) -> Iterator[Finding]:
    """Published DFlash drafters take their layers by one formula."""
    ids, layers = evidence.view.ids, evidence.target_layers
    if not ids or layers is None or evidence.settled("target_layer_ids") is not None:
        return
    usual = predicted(layers, len(ids))
    if usual is None or usual == ids or max(ids) >= layers:
        return
    if evidence.view.generation == "dflash":
        yield warning(
            evidence.view.ids_field,
            f"{_list(ids)} is not what published DFlash drafters for {layers} layers have, {_list(usual)}",
            f"if nobody published these, {_list(usual)} is the likely list; the formula is a proposal, not a proof",
            usual,
        )
    else:
        yield info(
            evidence.view.ids_field,
            "not the formula of DFlash drafters, and this family does not follow it: it cannot be checked",
            "compare with the published config",
        )


@rule("engine-offset", engines="0.20-0.21")
def read_one_layer_off(evidence: Evidence) -> Iterator[Finding]:
    """Engines before 0.22 read the layer below each one that is asked for."""
    if evidence.engine.layer_offset is False and evidence.engine.dflash is not False:
        yield warning(
            evidence.view.ids_field,
            f"engine {evidence.engine.version} reads one layer below each: 3-5 % of the acceptance length is lost",
            "engine.source: release:0.33.0   (0.22.0 and later read the right ones)",
        )


def _list(ids: tuple[int, ...]) -> str:
    shown = ",".join(str(one) for one in ids[:12])
    return f"[{shown}{',...' if len(ids) > 12 else ''}]"


RULES = (
    missing,
    not_increasing,
    out_of_range,
    count_in_the_weights,
    count_unlike_the_layers,
    not_as_others_are_made,
    read_one_layer_off,
)
