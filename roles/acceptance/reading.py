"""What was found in a log: windows, what does not make one, what was thrown out, and whose log it is."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from roles.acceptance.fragment import Fragment
from roles.acceptance.series import Seen
from roles.acceptance.statistics import Comparison
from roles.acceptance.window import Window
from roles.conditions import Conditions


@dataclass(frozen=True)
class ThrownOut:
    """A line that is about speculation and was not counted. number is 1-based; text is cut to 400 characters."""

    number: int
    text: str
    reason: str


@dataclass(frozen=True)
class Reading:
    """What a log says.

    seen:        windows with their times, in the order of the lines; in a very long log neighbours are added up
    kept:        how many lines became a window
    fragments:   figures that do not make a window
    thrown_out:  lines that were not counted, at most 1000 of them; `reasons` counts all
    why_nothing: the reason for having no window, None when there is one
    engine:      "vLLM", "SGLang", "llama.cpp", or None
    versions:    of vLLM, from its own words or its log calls' line numbers, in the order in which they ran
    method:      of speculation, as the last start says; None when no start is in the log
    speeds:      mean tokens a second and number of statistics lines, by running requests
    layers:      the target's layers that feed the drafter, as the log says ("(2, 17, 32)")
    conditions:  what a measurement of our own depends on; None for a log
    again:       its A/A run, for the noise floor
    """

    seen: tuple[Seen, ...] = ()
    kept: int = 0
    fragments: tuple[Fragment, ...] = ()
    thrown_out: tuple[ThrownOut, ...] = ()
    reasons: Counter[str] = field(default_factory=Counter)
    why_nothing: str | None = None
    engine: str | None = None
    versions: tuple[str, ...] = ()
    method: str | None = None
    layers: str | None = None
    speeds: Mapping[int, tuple[float, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    conditions: Conditions | None = None
    again: Comparison | None = None

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows alone."""
        return tuple(one.window for one in self.seen)
