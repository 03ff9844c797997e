"""Counters in a text that is no log: a saved /metrics answer, or a table copied from the Prometheus UI."""

import re
from dataclasses import replace

from roles.acceptance.counters import Counters, delta, read
from roles.acceptance.fragment import Fragment
from roles.acceptance.window import Window, faults

# The UI's table: `name{a="b", c="d"} | 22` or tab-separated, between Markdown rules.
_ROW = re.compile(
    r"^\W{0,8}(?P<series>(?:vllm:\w{1,120}|process_start_time_seconds)(?:\{[^}]{0,2000}\})?)[\s|]{1,20}(?P<value>[\d.eE+-]{1,30})\b"
)
_MOST_ROWS = 20_000


class Readings:
    """Counter lines in their order. A series that comes again begins another reading."""

    def __init__(self) -> None:
        self.number = 0
        self._rows: list[dict[str, str]] = [{}]

    def __bool__(self) -> bool:
        return any("spec_decode" in series for rows in self._rows for series in rows)

    def take(self, number: int, text: str) -> bool:
        """Take the line if it is a counter's."""
        found = _ROW.match(text) if "vllm:" in text or "process_start" in text else None
        if found is None:
            return False
        self.number = self.number or number
        if found["series"] in self._rows[-1]:
            self._rows = [self._rows[0], {}]  # the first and the latest are enough for a difference
        if len(self._rows[-1]) < _MOST_ROWS:
            self._rows[-1][found["series"]] = found["value"]
        return True

    def result(self) -> Window | Fragment:
        """Since the server's start, or between the first and the last reading where there are several."""
        readings = [read("\n".join(f"{series} {value}" for series, value in rows.items())) for rows in self._rows]
        last = readings[-1]
        window = delta(readings[0] if len(readings) > 1 else Counters(), last)
        if window.rounds and not (found := faults(window)):
            return window
        if window.rounds and not faults(bare := _without_positions(window)):
            return bare
        if window.rounds:
            return Fragment(self.number, f"these counters contradict each other: {found[0]}")
        counts = last.total
        missing = [
            name
            for name, count in (("drafts", counts.rounds), ("drafted", counts.drafted), ("accepted", counts.accepted))
            if count is None
        ]
        said = f"these counters are incomplete: no totals of {', '.join(missing)}" if missing else window.doubts[0]
        for engine in last.engines:
            if engine.rounds and engine.per_position and missing:
                said += f"; position 0 of engine {engine.engine}: {engine.per_position[0]} of {engine.rounds} rounds"
                break
        return Fragment(self.number, said, counts.rounds, counts.accepted, counts.drafted)


def _without_positions(window: Window) -> Window:
    """For a text that lacks some of the positions."""
    k, left = divmod(window.drafted, window.rounds)
    doubt = "the positions do not add up to the accepted tokens: left out"
    return replace(window, per_position=(), k=None if left else k, doubts=(*window.doubts, doubt))
