"""What a log says altogether, in exact counts; what it does not say is None."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from roles.acceptance.fragment import total
from roles.acceptance.reading import Reading
from roles.acceptance.series import Seen
from roles.acceptance.window import Window, pool


@dataclass(frozen=True)
class Summary:
    """Counts of the windows that belong together, or of the fragments where there is no window.

    window:       all of them pooled; an empty one where there are only fragments
    seen:         the windows themselves
    earlier:      windows at another k before those, pooled by k in their order: not added, they do not compare
    length:       acceptance length, bonus included; None where only rates or incomplete counts are known
    accepted_per_s: accepted tokens a second of decoding; None without the statistics lines' throughput
    """

    window: Window
    seen: tuple[Seen, ...]
    earlier: tuple[Window, ...]
    rounds: int | None
    accepted: int | None
    drafted: int | None
    k: int | None
    length: float | None
    accepted_per_s: float | None = None


def summarise(reading: Reading) -> Summary:
    """Add up what belongs together: the windows at the k that the log ends with, else the fragments."""
    if not reading.seen:
        return _of_fragments(reading)
    groups = _by_k(reading.seen)
    last = groups[-1]
    window = pool(one.window for one in last)
    return Summary(
        window=window,
        seen=tuple(last),
        earlier=tuple(pool(one.window for one in group) for group in groups[:-1]),
        rounds=window.rounds,
        accepted=window.accepted,
        drafted=window.drafted,
        k=window.k,
        length=window.acceptance_length,
        accepted_per_s=_speed([one.window for one in last]),
    )


def _by_k(seen: Sequence[Seen]) -> list[list[Seen]]:
    """Windows of one k together, the k that came last at the end."""
    groups: dict[int | None, list[Seen]] = {}
    for one in seen:
        groups.setdefault(one.window.k, []).append(one)
    last = groups.pop(seen[-1].window.k)
    return [*groups.values(), last]


def _of_fragments(reading: Reading) -> Summary:
    parts = reading.fragments
    rounds = total([part.rounds for part in parts])
    accepted = total([part.accepted for part in parts])
    sizes = {part.k for part in parts}
    length = 1 + accepted / rounds if rounds and accepted is not None else None
    if length is None and rounds and all(part.length is not None and part.rounds for part in parts):
        length = fsum((part.length or 0) * (part.rounds or 0) for part in parts) / rounds
    return Summary(
        window=Window(),
        seen=(),
        earlier=(),
        rounds=rounds,
        accepted=accepted,
        drafted=total([part.drafted for part in parts]),
        k=sizes.pop() if len(sizes) == 1 else None,
        length=length,
    )


def _speed(windows: Sequence[Window]) -> float | None:
    timed = [window for window in windows if window.span_s]
    span_s = fsum(window.span_s or 0.0 for window in timed)
    return sum(window.accepted for window in timed) / span_s if span_s else None
