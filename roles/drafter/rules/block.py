"""Rules about the block that a drafter was trained to draft."""

from collections.abc import Iterator

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import error, rule
from roles.drafter.values import boolean, integer


@rule("block-size-twice")
def said_twice(evidence: Evidence) -> Iterator[Finding]:
    """block_size at top level (older configs) and in dflash_config (newer ones) must be the same."""
    top, inner = integer(evidence.view.raw, "block_size"), integer(evidence.view.nested, "block_size")
    if top is not None and inner is not None and top != inner:
        yield error(
            "block_size",
            f"{top} at top level, {inner} in dflash_config: engines differ in which one they read",
            "keep the one of the published config",
            evidence.settled("block_size"),
        )


@rule("sample-from-anchor")
def samples_from_anchor(evidence: Evidence) -> Iterator[Finding]:
    """A DFlash drafter does not sample from the anchor's place."""
    places = (
        (evidence.view.nested, "dflash_config.sample_from_anchor"),
        (evidence.view.raw, "sample_from_anchor"),
    )
    for config, field in places:
        if boolean(config, "sample_from_anchor") and evidence.view.generation == "dflash":
            yield error(
                field, "it is true, which the engine refuses for dflash", "it belongs to DSpark drafters", False
            )


RULES = (said_twice, samples_from_anchor)
