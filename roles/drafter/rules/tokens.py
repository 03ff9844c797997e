"""Rules about how many tokens are asked of a drafter, against what it was trained for."""

import re
from collections.abc import Iterator

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import WITH_WEIGHTS, error, info, rule, warning
from roles.drafter.values import integer, mapping

_BLOCK_IN_NAME = re.compile(r"-b(\d{1,3})(?![0-9A-Za-z])", re.IGNORECASE)


@rule("tokens")
def more_than_trained(evidence: Evidence) -> Iterator[Finding]:
    """A block holds the anchor token and the drafted ones: one token fewer than its size can be drafted."""
    tokens, most = evidence.tokens, _most(evidence)
    if tokens is None or most is None:
        return
    block = most + _anchor(evidence)
    if tokens > most:
        yield error(
            "drafter.tokens",
            f"{tokens} are asked of a drafter that was trained on blocks of {block}: no engine refuses it",
            f"drafter.tokens: {max(most, 1)}",
            max(most, 1),
        )


@rule("tokens-predicted", methods=WITH_WEIGHTS)
def more_than_predicted(evidence: Evidence) -> Iterator[Finding]:
    """A speculator with n_predict heads drafts no more tokens than that."""
    heads, tokens = integer(evidence.view.raw, "n_predict"), evidence.tokens
    if heads is not None and tokens is not None and 0 < heads < tokens:
        yield error(
            "drafter.tokens",
            f"{tokens} are asked of a drafter with n_predict {heads}",
            f"drafter.tokens: {heads}",
            heads,
        )


@rule("tokens-missing", methods=WITH_WEIGHTS - {"mtp"})
def not_said(evidence: Evidence) -> Iterator[Finding]:
    """num_speculative_tokens is passed: an engine takes it neither from the block nor from a speculators config."""
    if evidence.tokens_said == "yes" or integer(evidence.view.raw, "n_predict") is not None:
        return
    trained = _proposed(evidence) or _most(evidence)
    if evidence.tokens_said == "no":
        yield error(
            "drafter.tokens",
            "num_speculative_tokens is left out: the engine does not start",
            f"num_speculative_tokens: {trained}" if trained else "num_speculative_tokens: 5 is a start; measure it",
            trained,
        )
    elif trained is not None:
        yield info(
            "drafter.tokens",
            f"this drafter was trained to draft {trained}; no engine reads that from its config",
            f"num_speculative_tokens: {trained}, or fewer",
            trained,
        )


@rule("tokens-proposed", methods=WITH_WEIGHTS)
def more_than_proposed(evidence: Evidence) -> Iterator[Finding]:
    """A speculators config says for how many tokens it was trained."""
    proposed, tokens = _proposed(evidence), evidence.tokens
    most = _most(evidence)
    if proposed is not None and tokens is not None and tokens > proposed and (most is None or tokens <= most):
        yield warning(
            "drafter.tokens",
            f"{tokens} are asked, speculators_config proposes {proposed}: later positions were not trained",
            f"drafter.tokens: {proposed}, or measure both",
            proposed,
        )


def _most(evidence: Evidence) -> int | None:
    """Tokens that the block leaves room for."""
    block = evidence.view.block
    if block is None:
        block = next((size for name in _names(evidence) if (size := _block_in(name))), None)
    return block - _anchor(evidence) if block is not None and block > 0 else None


def _anchor(evidence: Evidence) -> int:
    return 0 if evidence.view.generation == "dspark" else 1  # DSpark samples from the anchor's place as well


def _names(evidence: Evidence) -> tuple[str, ...]:
    return (evidence.drafter.repository or "", evidence.drafter.path or "")


def _block_in(name: str) -> int | None:
    """The block that z-lab puts into its older names: Qwen3-8B-DFlash-b16."""
    found = _BLOCK_IN_NAME.search(name) if "dflash" in name.lower() else None
    return int(found[1]) if found else None


def _proposed(evidence: Evidence) -> int | None:
    methods = mapping(evidence.view.raw.get("speculators_config")).get("proposal_methods")
    first = methods[0] if isinstance(methods, list) and methods else None
    tokens = integer(mapping(first), "speculative_tokens")
    return tokens if tokens is not None and tokens > 0 else None


RULES = (more_than_trained, more_than_predicted, not_said, more_than_proposed)
