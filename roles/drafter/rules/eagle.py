"""Rules about EAGLE drafters and the layers of the target that they listen to."""

from collections.abc import Iterator

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import error, rule
from roles.drafter.values import integers

_IDS = "eagle_aux_hidden_state_layer_ids"


@rule("eagle-layers", methods=frozenset({"eagle3"}))
def captured_layers(evidence: Evidence) -> Iterator[Finding]:
    """The captured layers are different ones of the target's; those that an engine takes by default as well."""
    layers = evidence.target.layers if evidence.target else None
    ids, left_out = _layers(evidence)
    if ids is None:
        return
    if len(set(ids)) != len(ids):
        default = "the engine's default (2, L//2, L-3), " if left_out else ""
        yield error(
            _IDS,
            f"{default}{list(ids)} names a layer twice: the first request fails",
            f"{_IDS}: different layers, those that it was trained with",
        )
    elif layers is not None and (min(ids) < 0 or max(ids) > layers):
        yield error(
            _IDS,
            f"{list(ids)} is not within the target's {layers} layers: the first request fails",
            "this drafter is for another target",
        )


@rule("eagle-weights", methods=frozenset({"eagle3"}))
def width_of_the_captured(evidence: Evidence) -> Iterator[Finding]:
    """fc.weight is as wide as the captured layers together."""
    ids, left_out = _layers(evidence)
    width = evidence.target_hidden
    shape = evidence.header.shape("fc.weight") if evidence.header else None
    if ids is None or not width or shape is None or len(shape) != 2 or shape[1] == len(ids) * width:
        return
    count, rest = divmod(shape[1], width)
    if rest:
        yield error(
            "weights",
            f"fc.weight is {shape[1]} wide, no multiple of the target's hidden size {width}",
            "this drafter is for a target of another width",
        )
    else:
        met = "none are listed, and the engine takes 3" if left_out else f"{len(ids)} are listed"
        yield error(_IDS, f"{met}, the weights were trained on {count} layers", f"{_IDS}: {count} layers")


def _layers(evidence: Evidence) -> tuple[tuple[int, ...] | None, bool]:
    """The layers as the engine counts them ("before layer i"), and whether they are its default."""
    raw = evidence.view.raw
    if raw.get(_IDS) is not None:
        return integers(raw, _IDS), False
    count = evidence.target.layers if evidence.target else None
    return (None if count is None or count < 3 else (2, count // 2, count - 3)), True


RULES = (captured_layers, width_of_the_captured)
