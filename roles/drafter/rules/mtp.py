"""Rules about multi-token prediction, whose drafter is part of the target."""

from collections.abc import Iterator

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import error, rule, warning

_MTP = frozenset({"mtp"})


@rule("mtp-layers", methods=_MTP)
def none_in_the_target(evidence: Evidence) -> Iterator[Finding]:
    """The target brings layers that predict further tokens."""
    target = evidence.target
    if target is not None and not target.mtp_layers:
        yield warning(
            "drafter.method",
            "the target's config names no layers for mtp (num_nextn_predict_layers, mtp_num_hidden_layers)",
            "drafter.method, or another export of the target: quantised ones often leave these layers out",
        )


@rule("mtp-tokens", methods=_MTP)
def no_multiple(evidence: Evidence) -> Iterator[Finding]:
    """More tokens than the target has layers for are asked in whole rounds of them."""
    layers, tokens = evidence.target.mtp_layers if evidence.target else None, evidence.tokens
    if layers and tokens is not None and tokens > layers and tokens % layers:
        nearest = tokens // layers * layers
        yield error(
            "drafter.tokens",
            f"{tokens} is no multiple of the target's {layers} mtp layers: the engine does not start",
            f"drafter.tokens: {nearest}",
            nearest,
        )


RULES = (none_in_the_target, no_multiple)
