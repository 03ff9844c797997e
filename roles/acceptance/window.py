"""What was counted: one window of speculative decoding, what contradicts itself in it, and how windows are added up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import fsum
from typing import Literal

Source = Literal["request", "counters", "log"]
"""Where counts come from, best first: per-request histograms, /metrics deltas, log lines."""

_IMMATERIAL_TOKENS = 2  # a health check's token, or an end-of-text token that one side does not count
_MOST_DOUBTS = 12  # of many windows added up: each may name its own numbers
_WORST_LAST: tuple[Source, ...] = ("request", "counters", "log")


@dataclass(frozen=True)
class Window:
    """Counts of one stretch of decoding. Counts are exact unless `doubts` says otherwise.

    rounds:       verify steps, one a request and step (vLLM: "drafts")
    accepted:     drafted tokens that the target agreed with, without the bonus token
    drafted:      tokens that the drafter proposed
    per_position: rounds in which position i was accepted, i from 0; () when the source does not say
    k:            speculative tokens a round; None when it is not known
    generated:    tokens that the engine counted as generated, of all requests; None when the source does not say
    emitted:      tokens of these rounds, bonus included, where accepted does not tell (vLLM's V0 counts it its own way)
    span_s:       how long the engine decoded, seconds
    engine:       data-parallel engine index as vLLM labels it ("0"); None for all of them
    doubts:       why a number may be less exact than it looks, in words
    """

    rounds: int = 0
    accepted: int = 0
    drafted: int = 0
    per_position: tuple[int, ...] = ()
    k: int | None = None
    generated: int | None = None
    span_s: float | None = None
    engine: str | None = None
    source: Source = "counters"
    doubts: tuple[str, ...] = ()
    emitted: int | None = None

    @property
    def acceptance_length(self) -> float | None:
        """Mean tokens emitted a round, bonus included; None without rounds."""
        if self.emitted is not None and self.rounds:
            return self.emitted / self.rounds
        return 1 + self.accepted / self.rounds if self.rounds else None

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / drafted, 0-1; only comparable at equal k. None when nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def per_position_rates(self) -> tuple[float, ...]:
        """Share of all rounds in which position i was accepted: unconditional, non-increasing. () without rounds."""
        return tuple(count / self.rounds for count in self.per_position) if self.rounds else ()


@dataclass(frozen=True)
class PromptWindow:
    """The window of one prompt, decoded alone.

    prompt:       the prompt's id
    usage_tokens: completion tokens as the server's answer counts them; None when it does not say
    """

    prompt: str
    window: Window
    usage_tokens: int | None = None

    @property
    def foreign_tokens(self) -> int | None:
        """Tokens that were generated meanwhile and are not this prompt's; None when it is not known."""
        if self.window.generated is None or self.usage_tokens is None:
            return None
        return self.window.generated - self.usage_tokens

    @property
    def mixed(self) -> bool:
        """Whether the counts are of more (or less) than this prompt: other requests, or counters that lag behind."""
        return abs(self.foreign_tokens or 0) > _IMMATERIAL_TOKENS


def faults(window: Window) -> tuple[str, ...]:
    """Identities that the counts break. A window with faults is not to be used for anything.

    accepted = sum of per-position counts; per-position counts never rise and never exceed the rounds; accepted is at
    most drafted; drafted is at most k a round (less is possible: see `with_doubts`).
    """
    found = []
    counts = window.per_position
    if min(window.rounds, window.accepted, window.drafted, *counts, 0) < 0:
        found.append("a count is negative")
    if window.accepted > window.drafted:
        found.append(f"{window.accepted} accepted tokens are more than the {window.drafted} drafted")
    if not window.rounds and window.drafted:
        found.append(f"{window.drafted} tokens were drafted in no round")
    if window.k is not None and window.drafted > window.k * window.rounds:
        found.append(f"{window.drafted} drafted tokens are more than k={window.k} in {window.rounds} rounds")
    if counts:
        if sum(counts) != window.accepted:
            found.append(f"the positions add up to {sum(counts)} accepted tokens, not to {window.accepted}")
        if counts[0] > window.rounds:
            found.append(f"position 0 was accepted in {counts[0]} of {window.rounds} rounds")
        if any(later > earlier for earlier, later in pairwise(counts)):
            found.append("a later position was accepted more often than an earlier one")
    return tuple(found)


def with_doubts(window: Window) -> Window:
    """The window, with the doubt that some drafts were shorter than k, where drafted says so.

    Then late positions read low: their rate is taken over all rounds, also those that never reached them.
    """
    if window.k is None or window.drafted >= window.k * window.rounds:
        return window
    mean = window.drafted / window.rounds
    doubt = f"drafts were shorter than k={window.k} (mean {mean:.2f} tokens): late positions read low"
    return replace(window, doubts=tuple(dict.fromkeys((*window.doubts, doubt))))


def first_positions(window: Window, k: int) -> Window | None:
    """The window as if only its first k positions counted; None when it has no counts for that many positions.

    Exact for the rounds that were run, but not the same as a run at that k: a block drafter's early positions get
    slightly better with a shorter block (measured: 3-6 % more acceptance length at 5 tokens than at 15).
    """
    if window.k == k and not window.per_position:
        return window
    if not 0 < k <= len(window.per_position):
        return None
    kept = window.per_position[:k]
    return replace(window, accepted=sum(kept), drafted=min(window.drafted, k * window.rounds), per_position=kept, k=k)


def at_positions(windows: Iterable[PromptWindow], k: int) -> list[PromptWindow]:
    """`first_positions` of each; windows without counts for so many are left out."""
    cut = ((prompt, first_positions(prompt.window, k)) for prompt in windows)
    return [replace(prompt, window=window) for prompt, window in cut if window is not None]


def pool(windows: Iterable[Window]) -> Window:
    """All windows as one: counts are added, never averaged. No windows give an empty one.

    Windows of unequal k are pooled over the positions that all of them have; one without per-position counts is then
    left out. Both are said in `doubts`. per_position, generated and span_s are kept only when every window has them,
    and span_s only for windows of one engine (several engines run at the same time).
    """
    given: Sequence[Window] = [window for window in windows if window.rounds or window.generated]
    if not given:
        return Window()
    doubts = [doubt for window in given for doubt in window.doubts]
    sizes = {window.k for window in given if window.rounds}
    k = next(iter(sizes)) if len(sizes) == 1 else None
    if len(sizes) > 1:
        k = _smallest_k(given)
        given, dropped = _to_first_positions(given, k)
        doubts.append(f"pooled over the first {k} positions only: k differs between windows")
        if dropped:
            doubts.append(f"{dropped} windows were left out of the pool: they do not say which positions were accepted")
    engines = {window.engine for window in given}
    deep = [len(window.per_position) for window in given if window.rounds]
    positions = min(deep) if deep and min(deep) == max(deep) else 0
    return Window(
        rounds=sum(window.rounds for window in given),
        accepted=sum(window.accepted for window in given),
        drafted=sum(window.drafted for window in given),
        per_position=tuple(sum(window.per_position[i] for window in given if window.rounds) for i in range(positions)),
        k=k,
        generated=_sum_if_all([window.generated for window in given]),
        span_s=_span(given) if len(engines) == 1 else None,
        engine=engines.pop() if len(engines) == 1 else None,
        source=max((window.source for window in given), key=_WORST_LAST.index, default="counters"),
        doubts=tuple(dict.fromkeys(reversed(doubts)))[_MOST_DOUBTS - 1 :: -1],
        emitted=_sum_if_all([window.emitted for window in given]),
    )


def _smallest_k(windows: Sequence[Window]) -> int:
    """The number of positions that all windows which say anything about positions share."""
    return min((len(window.per_position) for window in windows if window.per_position), default=0)


def _to_first_positions(windows: Sequence[Window], k: int) -> tuple[Sequence[Window], int]:
    cut = [first_positions(window, k) if window.rounds else window for window in windows]
    kept = [window for window in cut if window is not None]
    return kept, len(cut) - len(kept)


def _sum_if_all(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _span(windows: Sequence[Window]) -> float | None:
    known = [window.span_s for window in windows if window.span_s is not None]
    return fsum(known) if known and len(known) == len(windows) else None
