"""What a log's reader has found so far: windows, figures that make none, lines that were thrown out and why."""

from collections import Counter
from collections.abc import Iterator

from roles.acceptance.envelope import Line
from roles.acceptance.fragment import Fragment
from roles.acceptance.reading import ThrownOut
from roles.acceptance.series import Seen, Series
from roles.acceptance.window import Window, faults

_MOST = 1000  # lines and reasons that are kept
_MOST_FRAGMENTS = 10_000


class Findings:
    """Takes what lines say, in bounded memory."""

    def __init__(self) -> None:
        self.series = Series()
        self.fragments: list[Fragment] = []
        self.thrown_out: list[ThrownOut] = []
        self.reasons: Counter[str] = Counter()
        self._same: Counter[tuple[str | None, Window]] = Counter()
        self._last: tuple[str | None, Window] | None = None

    @property
    def figures(self) -> int:
        """How many windows and fragments there are."""
        return self.series.kept + len(self.fragments)

    def keep(self, number: int, found: Window | Fragment | str, line: Line | None = None) -> None:
        """Keep a window that does not contradict itself, or a fragment; a text is why the line is thrown out."""
        broken = (found,) if isinstance(found, str) else faults(found) if isinstance(found, Window) else ()
        if broken:
            self.throw(number, line.text if line else "", broken[0])
        elif isinstance(found, Fragment):
            if len(self.fragments) < _MOST_FRAGMENTS:
                self.fragments.append(found)
        elif isinstance(found, Window):
            self.series.add(Seen(found, number, line.at if line else None))

    def throw(self, number: int, text: str, reason: str) -> None:
        """Remember a line that is about speculation and is not counted."""
        known = reason in self.reasons or len(self.reasons) < _MOST
        self.reasons[reason if known else "other reasons"] += 1
        if len(self.thrown_out) < _MOST:
            self.thrown_out.append(ThrownOut(number, text[:400], reason))

    def again(self, at: str | None, window: Window) -> None:
        """Remember windows that come again at once with the same figures and the same time."""
        this = (at, Window(window.rounds, window.accepted, window.drafted, window.per_position, window.k))
        if at is not None and this == self._last and len(self._same) < _MOST:
            self._same[this] += 1
        self._last = this

    def notes(self) -> Iterator[str]:
        """What was assumed of windows that came again."""
        for (at, window), more in self._same.most_common(3):
            yield (
                f"{more + 1} lines of {at} have the same figures ({window.accepted}/{window.drafted}): counted as "
                f"{more + 1} windows (several engines or files); if one line was copied, it is one"
            )

    def why_nothing(self) -> str | None:
        """Why there is no window, as far as what was found says it."""
        if self.fragments:
            said = list(dict.fromkeys(fragment.said for fragment in self.fragments))
            return f"{len(self.fragments)} lines say too little to be counted: {said[0]}"
        if self.reasons:
            first = next(iter(self.reasons))
            return f"none of the {self.reasons.total()} lines about speculation can be counted: {first}"
        return None
