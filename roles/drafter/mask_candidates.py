"""Which token can be a drafter's mask token: it is not in the weights, so these are reasons, not proofs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from roles.drafter.known import Family, KnownDrafter

FREE_WORDS = ("mask", "reserved", "unused", "extra", "dummy", "placeholder")
"""In the names of tokens that a vocabulary keeps free, or that were made for this: drafters are trained with them."""


@dataclass(frozen=True)
class Candidate:
    """A token id and every reason for it, the strongest first."""

    token: int
    reasons: tuple[str, ...]


def candidates(
    rows: int | None, added: Mapping[int, str] | None, published: Sequence[KnownDrafter], family: Family | None
) -> tuple[Candidate, ...]:
    """The tokens that speak for themselves, most likely first.

    rows:      of the target's embedding; what is beyond it cannot be one
    added:     the tokenizer's added tokens, id -> text
    published: drafters that this one can be, by its repository or its sizes
    """
    found: dict[int, list[str]] = {}
    for token, reason in _reasons(rows, added or {}, published, family):
        if token >= 0 and (rows is None or token < rows):
            found.setdefault(token, []).append(reason)
    return tuple(Candidate(token, tuple(dict.fromkeys(reasons))) for token, reasons in found.items())


def _reasons(
    rows: int | None, added: Mapping[int, str], published: Sequence[KnownDrafter], family: Family | None
) -> Iterator[tuple[int, str]]:
    for known in published:
        token = known.fields.get("mask_token_id")
        if isinstance(token, int):
            yield token, f"{known.repository} has it"
    for token, text in added.items():
        if "mask" in text.lower():
            yield token, f"the tokenizer calls it {text[:40]}"
    if family is not None:
        for token in family.mask_token_ids:
            yield token, f"published drafters for {family.name} have it"
    if added and 2 * min(added) > (rows or 0):  # else they stand before the ordinary tokens, and one of those follows
        yield max(added) + 1, "the first row after the tokenizer's added tokens: where published drafters have theirs"
    for token, text in [(token, text) for token, text in added.items() if _is_free(text)][:3]:
        yield token, f"the tokenizer keeps it free: {text[:40]}"


def _is_free(text: str) -> bool:
    return any(word in text.lower() for word in FREE_WORDS)
