"""Rules about the target: what makes it another one than the drafter was trained for, as far as files can tell."""

from collections.abc import Iterator

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.rules.rule import WITH_WEIGHTS, info, rule, warning
from roles.drafter.values import mapping, number, texts


@rule("rms-norm-eps")
def another_epsilon(evidence: Evidence) -> Iterator[Finding]:
    """A drafter usually has its target's rms_norm_eps."""
    mine, its = number(evidence.view.body, "rms_norm_eps"), evidence.target.epsilon if evidence.target else None
    if mine is not None and its is not None and mine != its:
        yield warning(
            "rms_norm_eps",
            f"{mine:g} here, {its:g} in the target",
            "compare with the published config of the same revision",
            its,
        )


@rule("target-quantised", methods=WITH_WEIGHTS)
def quantised(evidence: Evidence) -> Iterator[Finding]:
    """A drafter was trained on what the unquantised target says."""
    how = evidence.target.quantised if evidence.target else None
    if how is not None:
        yield info(
            "model.path",
            f"the target is quantised ({how}): less is accepted than with the weights that the drafter was trained on",
            "judge it by a gate of its own, not by published numbers",
        )


@rule("tokenizer-size")
def tokens_without_a_row(evidence: Evidence) -> Iterator[Finding]:
    """The tokenizer's tokens all have a row in the embedding."""
    rows, added = evidence.vocab, evidence.added_tokens
    if rows is not None and added and max(added) >= rows:
        yield warning(
            "vocab_size",
            f"the tokenizer has tokens up to {max(added)}, the embedding {rows} rows",
            "the tokenizer is of another model",
        )


@rule("speculators-verifier", methods=WITH_WEIGHTS)
def another_verifier(evidence: Evidence) -> Iterator[Finding]:
    """A speculators config names the target's class."""
    verifier = mapping(mapping(evidence.view.raw.get("speculators_config")).get("verifier"))
    said, its = texts(verifier, "architectures"), evidence.target.architectures if evidence.target else None
    if said and its and not set(said) & set(its):
        yield warning(
            "speculators_config.verifier",
            f"it was trained for a {said[0][:60]}, the target is a {its[0][:60]}",
            "serve the target that this drafter was made for",
            list(its),
        )


RULES = (another_epsilon, quantised, tokens_without_a_row, another_verifier)
