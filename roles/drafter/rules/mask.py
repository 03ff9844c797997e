"""Rules about the mask token: nothing at run time complains when it is the wrong one."""

from collections.abc import Iterator

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding
from roles.drafter.mask_candidates import FREE_WORDS
from roles.drafter.rules.rule import error, rule, warning
from roles.drafter.values import integer


@rule("mask-missing")
def missing(evidence: Evidence) -> Iterator[Finding]:
    """A DFlash drafter needs a mask token."""
    view = evidence.view
    if view.mask is None and view.mask_field not in _present(evidence):
        known = evidence.settled("mask_token_id")
        yield error(
            view.mask_field,
            "there is no mask token: the engine does not start",
            "take it from the published config of the same revision; it cannot be read from the weights",
            known,
        )


@rule("mask-range")
def out_of_range(evidence: Evidence) -> Iterator[Finding]:
    """The mask token must be a row of the target's embedding."""
    mask, rows = evidence.view.mask, evidence.vocab
    if mask is not None and (mask < 0 or (rows is not None and mask >= rows)):
        yield error(
            evidence.view.mask_field,
            f"{mask} is no row of the target's embedding, which has {rows or 'only rows from 0 on'}: "
            "the engine starts healthy and dies at the first request",
            "take it from the published config of the same revision",
            evidence.settled("mask_token_id"),
        )


@rule("mask-family")
def not_of_the_family(evidence: Evidence) -> Iterator[Finding]:
    """Drafters for one family of targets share their mask tokens, and none is a token that the tokenizer uses."""
    mask, family = evidence.view.mask, evidence.family
    if mask is None or family is None or mask in family.mask_token_ids or evidence.settled("mask_token_id") is not None:
        return
    published = " or ".join(str(one) for one in family.mask_token_ids)
    expected = family.mask_token_ids[0] if len(family.mask_token_ids) == 1 else evidence.likely("mask_token_id")
    remedy = f"every published drafter for {family.name} has {published}"
    if expected is not None and len(family.mask_token_ids) > 1:
        remedy += f", every one for a target of this size {expected}"
    if family.uses(mask):
        yield error(
            evidence.view.mask_field,
            f"{mask} is a token that {family.name}'s tokenizer uses itself: drafts collapse after position 0",
            remedy,
            expected,
        )
    else:
        yield warning(
            evidence.view.mask_field,
            f"{mask} is not the mask token of any published drafter for {family.name}",
            remedy,
            expected,
        )


@rule("mask-used")
def a_used_token(evidence: Evidence) -> Iterator[Finding]:
    """The mask token should not be one that the target's tokenizer gives another meaning."""
    mask = evidence.view.mask
    family = evidence.family
    if mask is None or evidence.settled("mask_token_id") is not None or (family and family.uses(mask)):
        return  # another rule knows more
    name = (evidence.added_tokens or {}).get(mask)
    meaning = (evidence.target.used_ids or {}).get(mask) if evidence.target else None
    if name is not None and any(word in name.lower() for word in FREE_WORDS):
        return
    if name is not None or meaning is not None:
        yield warning(
            evidence.view.mask_field,
            f"{mask} is {name or meaning}, a token that the target uses: drafts collapse after position 0",
            "published drafters use a row that the tokenizer leaves free, or a token named mask or reserved",
        )


@rule("mask-ordinary")
def ordinary_text(evidence: Evidence) -> Iterator[Finding]:
    """The mask token should not be a piece of ordinary text."""
    mask, added = evidence.view.mask, evidence.added_tokens
    if mask is None or not added or evidence.settled("mask_token_id") is not None:
        return
    first = min(added)
    if 0 <= mask < first:
        yield warning(
            evidence.view.mask_field,
            f"{mask} is below the tokenizer's first added token ({first}): a piece of ordinary text",
            "published drafters use a row that the tokenizer leaves free",
        )


@rule("mask-twice", engines="0.20-0.27 read only dflash_config")
def said_twice(evidence: Evidence) -> Iterator[Finding]:
    """The mask token at top level and in dflash_config must be the same."""
    top, inner = integer(evidence.view.raw, "mask_token_id"), integer(evidence.view.nested, "mask_token_id")
    if top is not None and inner is not None and top != inner:
        yield warning(
            "mask_token_id",
            f"{top} here, {inner} in dflash_config: engines differ in which one they read",
            "keep one of them, in dflash_config",
            evidence.settled("mask_token_id"),
        )


@rule("mask-place", engines="0.20-0.27")
def where_older_engines_do_not_look(evidence: Evidence) -> Iterator[Finding]:
    """Engines before 0.28 do not read a mask token at top level."""
    view = evidence.view
    if view.mask is not None and view.mask_field == "mask_token_id" and evidence.engine.top_level_mask is False:
        if view.speculators:  # the engine converts that layout itself
            return
        yield error(
            "dflash_config.mask_token_id",
            f"engine {evidence.engine.version} reads it here only, the config has it at top level",
            f"drafter.config: {{dflash_config: {{mask_token_id: {view.mask}}}}}",
            view.mask,
        )


def _present(evidence: Evidence) -> set[str]:
    """Fields that are there with a value, of whatever type: those of a wrong type have their own rule."""
    raw, nested = evidence.view.raw, evidence.view.nested
    there = {key for key, value in raw.items() if value is not None}
    return there | {f"dflash_config.{key}" for key, value in nested.items() if value is not None}


RULES = (
    missing,
    out_of_range,
    not_of_the_family,
    a_used_token,
    ordinary_text,
    said_twice,
    where_older_engines_do_not_look,
)
