"""vLLM's table of speculative tokens by batch size: num_speculative_tokens_per_batch_size of --speculative-config.

vLLM 0.24-0.33, vllm/v1/spec_decode/dynamic/utils.py: a list of [first batch size, last, tokens], both ends included,
from 1 on, without overlap. A gap and what comes after the last range keep the tokens of the range before; more than
num_speculative_tokens are cut to that many. The batch size is that of the step.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

KEY = "num_speculative_tokens_per_batch_size"


@dataclass(frozen=True)
class Range:
    """Batch sizes from first to last, both included, and what is drafted for each of their requests."""

    first: int
    last: int
    tokens: int

    def as_list(self) -> list[int]:
        """As vLLM takes it."""
        return [self.first, self.last, self.tokens]


def read(value: object) -> tuple[tuple[Range, ...], tuple[str, ...]]:
    """The table's ranges by rising batch size, and what vLLM would refuse it for; no ranges where it would."""
    if not isinstance(value, list) or not value:
        return (), ("it should be a list of [first batch size, last, tokens], with at least one",)
    ranges, wrong = [], []
    for entry in value:
        if isinstance(entry, list) and len(entry) == 3 and all(type(part) is int for part in entry):
            ranges.append(Range(*entry))
        else:
            wrong.append(f"{str(entry)[:40]} is no [first batch size, last, tokens]")
    ranges.sort(key=lambda one: one.first)
    wrong += _refused(ranges)
    return (() if wrong else tuple(ranges)), tuple(wrong)


def tokens_at(ranges: tuple[Range, ...], batch_size: int) -> int:
    """What is drafted at a batch size. ranges: as `read` gives them, at least one."""
    return [one.tokens for one in ranges if one.first <= batch_size][-1]


def _refused(ranges: list[Range]) -> Iterator[str]:
    for one in ranges:
        if one.first < 1 or one.last < one.first:
            yield f"{one.as_list()}: a range is from 1 or more up to as much or more"
        if one.tokens < 0:
            yield f"{one.as_list()}: less than no token"
    if ranges and ranges[0].first != 1:
        yield f"the first range begins at {ranges[0].first}: batch sizes from 1 on need one"
    for before, after in pairwise(ranges):
        if after.first <= before.last:
            yield f"{before.as_list()} and {after.as_list()} overlap"
