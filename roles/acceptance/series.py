"""Windows in their order, in bounded memory: when there are too many, neighbours are added up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from roles.acceptance.window import Window, pool

_MOST = 4096
_STRETCHES = 8


@dataclass(frozen=True)
class Seen:
    """A window and where it stood.

    number:       line in the log, 1-based
    at:           time on the engine's clock, as printed; of the last line where several were added up
    since_last_s: seconds since the spec line before it, idle time too; None when the line does not say
    version:      releases of vLLM that print such a line ("0.20.0-0.23.0")
    prompt:       id of the prompt that it is of; None in a log
    requests:     how many requests it is known to be of, at least
    """

    window: Window
    number: int
    at: str | None = None
    since_last_s: float | None = None
    version: str | None = None
    prompt: str | None = None
    requests: int = 1


class Series:
    """Takes any number of windows and keeps at most 4096, whose counts are all that came."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._seen: list[Seen] = []
        self.kept = 0

    def __iter__(self) -> Iterator[Seen]:
        return iter(self._seen)

    def add(self, seen: Seen, *, of: int = 1) -> None:
        """Take a window; `of` is how many lines it already stands for."""
        self.kept += of
        self._seen.append(seen)
        if len(self._seen) >= self._most:
            self._seen = _halved(self._seen)

    def pace(self, seconds_a_token: float) -> None:
        """Say of the last window how long its tokens took."""
        if self._seen:
            window = self._seen[-1].window
            span_s = seconds_a_token * (window.accepted + window.rounds)
            self._seen[-1] = replace(self._seen[-1], window=replace(window, span_s=span_s))


def stretches(seen: Sequence[Seen]) -> list[Window]:
    """Windows as samples that know little of each other: prompts as they are, a log in at most 8 to 15 stretches.

    One request lasts for several of a log's windows, so neighbours are alike and many windows are fewer samples than
    they look. Each stretch is the sum of an eighth of the windows (batch means); simulated with requests of two
    windows, 60 windows a side called 4 % of equal servers different at a nominal 5 %, and 12 % window by window.
    """
    used = [one.window for one in seen if one.window.rounds]
    size = max(1, len(used) // _STRETCHES) if any(one.prompt is None for one in seen) else 1
    count = len(used) // size
    return [pool(used[i * len(used) // count : (i + 1) * len(used) // count]) for i in range(count)]


def _halved(seen: list[Seen]) -> list[Seen]:
    """Every two neighbours as one, where they are of the same engine, version and k."""
    result: list[Seen] = []
    pending: Seen | None = None
    for one in seen:
        if pending is None:
            pending = one
        elif _alike(pending, one):
            result.append(_added(pending, one))
            pending = None
        else:
            result.append(pending)
            pending = one
    if pending is not None:
        result.append(pending)
    if len(result) > 0.9 * len(seen):  # engines take turns: then whatever stands side by side is added up
        return [_added(first, second) for first, second in zip(seen[::2], seen[1::2], strict=False)]
    return result


def _alike(first: Seen, second: Seen) -> bool:
    one, other = first.window, second.window
    return (one.k, one.engine, first.version) == (other.k, other.engine, second.version)


def _added(first: Seen, second: Seen) -> Seen:
    known = None not in (first.since_last_s, second.since_last_s)
    return Seen(
        pool((first.window, second.window)),
        first.number,
        second.at or first.at,
        (first.since_last_s or 0) + (second.since_last_s or 0) if known else None,
        second.version,
    )
