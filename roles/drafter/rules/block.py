"""Rules about the block that a drafter was trained to draft, and the tokens that are asked of it."""

from collections.abc import Iterator

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import WITH_WEIGHTS, error, rule
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


@rule("tokens")
def more_than_trained(evidence: Evidence) -> Iterator[Finding]:
    """A block holds the anchor token and the drafted ones: one token fewer than its size can be drafted."""
    block, tokens = evidence.view.block, evidence.drafter.tokens
    anchor = 0 if evidence.view.generation == "dspark" else 1  # DSpark samples from the anchor's place as well
    if block is not None and block > 0 and tokens > block - anchor:
        yield error(
            "drafter.tokens",
            f"{tokens} are asked of a drafter that was trained on blocks of {block}: no engine refuses it",
            f"drafter.tokens: {max(block - anchor, 1)}",
            max(block - anchor, 1),
        )


@rule("tokens-predicted", methods=WITH_WEIGHTS)
def more_than_predicted(evidence: Evidence) -> Iterator[Finding]:
    """A speculator with n_predict heads drafts no more tokens than that."""
    heads, tokens = integer(evidence.view.raw, "n_predict"), evidence.drafter.tokens
    if heads is not None and heads > 0 and tokens > heads:
        yield error(
            "drafter.tokens",
            f"{tokens} are asked of a drafter with n_predict {heads}",
            f"drafter.tokens: {heads}",
            heads,
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


RULES = (said_twice, more_than_trained, more_than_predicted, samples_from_anchor)
