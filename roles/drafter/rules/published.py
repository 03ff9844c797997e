"""Rules that compare with what was published: the only ones that can be sure of a mask token or of layer types."""

import json
from collections.abc import Iterator
from itertools import groupby

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.known import KnownDrafter, Value, field_of, value_of
from roles.drafter.rules.rule import error, rule, warning


@rule("published-config")
def unlike_the_published(evidence: Evidence) -> Iterator[Finding]:
    """Each field that the published config of this drafter settles must be as it says."""
    revisions = evidence.revisions
    if not revisions:
        return
    nearest = min(revisions, key=lambda revision: len(_differences(evidence, revision)))
    sure = len(revisions) == 1
    for name, met, right in _differences(evidence, nearest):
        field = field_of(evidence.view, name)
        message = f"{_short(met)} here, {_short(right)} in the published {nearest.repository}"
        yield (error if sure else warning)(
            field, message if sure else f"{message} ({nearest.revision})", _remedy(nearest, name, field, right), right
        )


@rule("published-lookalike")
def sliding_layers_lost(evidence: Evidence) -> Iterator[Finding]:
    """Full layers everywhere, in a config that somebody wrote by hand for a target whose drafter slides."""
    met = evidence.view.attention
    if not met or "sliding_attention" in met or not _made_by_hand(evidence):
        return
    for one in evidence.lookalikes:
        right = one.fields.get("layer_types")
        if isinstance(right, tuple) and "sliding_attention" in right:
            yield warning(
                "layer_types",
                f"{_short(met)} here, {_short(right)} in {one.repository}, which is for a target of this size",
                f"if it is that one: {_remedy(one, 'layer_types', 'layer_types', right)}; with its repository named, "
                "all of it is compared",
                right,
            )


def _made_by_hand(evidence: Evidence) -> bool:
    """Whether a field that all published drafters for such a target agree on is another one here."""
    for name in ("mask_token_id", "target_layer_ids"):
        likely, met = evidence.likely(name), value_of(evidence.view, name)
        if likely is not None and met is not None and met != likely:
            return True
    return False


@rule("published-target")
def another_target(evidence: Evidence) -> Iterator[Finding]:
    """A published drafter serves the target that it was trained for."""
    target = evidence.target
    if target is None or not evidence.revisions:
        return
    have = {"num_hidden_layers": target.layers, "hidden_size": target.hidden, "vocab_size": target.vocab}
    for name, right in evidence.revisions[0].target.items():
        met = have.get(name)
        if met is not None and met != right:
            yield error(
                "model.path",
                f"the target's {name} is {met}; {evidence.revisions[0].repository} was trained for one with {right}",
                "serve the target that this drafter was made for, or take the drafter of this target",
                right,
            )


def _differences(evidence: Evidence, revision: KnownDrafter) -> tuple[tuple[str, Value | None, Value], ...]:
    found = []
    for name, right in revision.fields.items():
        met = value_of(evidence.view, name)
        # A window is only missed where a layer slides: where none does, the layers are what is wrong.
        if name == "sliding_window" and not evidence.view.slides:
            continue
        if met != right and not (met is None and name in {"mask_token_id", "target_layer_ids"}):
            found.append((name, met, right))
    return tuple(found)


def _remedy(revision: KnownDrafter, name: str, field: str, right: Value) -> str:
    outer, _, inner = field.rpartition(".")
    setting = f"{inner}: {_text(right)}"
    window = revision.fields.get("sliding_window")
    if name == "layer_types" and window is not None:
        setting += f", sliding_window: {window}, use_sliding_window: true"
    return f"drafter.config: {{{outer}: {{{setting}}}}}" if outer else f"drafter.config: {{{setting}}}"


def _text(value: Value) -> str:
    return json.dumps(value)


def _short(value: Value | None) -> str:
    """For a sentence: runs of one word are counted ("4 sliding_attention + 1 full_attention")."""
    if value is None:
        return "absent"
    if isinstance(value, tuple) and value and all(isinstance(one, str) for one in value):
        runs = [(word, len(list(run))) for word, run in groupby(value)]
        return " + ".join(f"{count} {word}" for word, count in runs[:6])
    return json.dumps(value)[:120]


RULES = (unlike_the_published, sliding_layers_lost, another_target)
