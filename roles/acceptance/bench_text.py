"""Benchmark output that people paste: vLLM's `bench serve` and its offline examples, one figure a line."""

import re

from roles.acceptance.rounding import counts_of
from roles.acceptance.window import Window, with_doubts

_FIGURE = re.compile(
    r"(?:^|[ \t|])(?P<name>number of draft proposals|num_drafts|drafts|number of draft tokens(?: generated)?|"
    r"num_draft_tokens|draft tokens|number of accepted tokens|num_accepted_tokens|accepted tokens|"
    r"mean acceptance length|acceptance length|acceptance rate \(%\))\s*:\s*(?P<value>[\d,]{1,20}(?:\.\d{1,6})?)\s*$",
    re.IGNORECASE,
)
_POSITION = re.compile(
    r"^\s*(?P<name>acceptance rate at token|acceptance at token|position)\s+(?P<position>\d{1,3})\s*:\s*"
    r"(?P<value>\d{1,3}\.\d{1,4})\s*$",
    re.IGNORECASE,
)
_MEANING = {
    "number of draft proposals": "rounds",
    "num_drafts": "rounds",
    "drafts": "rounds",
    "number of draft tokens": "drafted",
    "number of draft tokens generated": "drafted",
    "num_draft_tokens": "drafted",
    "draft tokens": "drafted",
    "number of accepted tokens": "accepted",
    "num_accepted_tokens": "accepted",
    "accepted tokens": "accepted",
    "mean acceptance length": "length",
    "acceptance length": "length",
    "acceptance rate (%)": "rate",
}


class Block:
    """Figures of one benchmark, taken line by line."""

    def __init__(self) -> None:
        self.number = 0
        self._figures: dict[str, float] = {}
        self._rates: dict[int, tuple[float, float]] = {}

    def __bool__(self) -> bool:
        return bool({"rounds", "drafted", "accepted"} & self._figures.keys())

    def fits(self, text: str) -> bool:
        """Whether the line adds a figure that this block does not have yet."""
        name = _name(text)
        return name is not None and name not in self._figures and name not in self._rates

    def take(self, number: int, text: str) -> None:
        """Add the figure of a line that fits."""
        self.number = self.number or number
        if found := _POSITION.match(text):
            percent = found["name"].lower() == "position"
            digits = len(found["value"].split(".")[1])
            value, half = float(found["value"]), 0.5 * 10.0**-digits
            self._rates[int(found["position"])] = (value / 100, half / 100) if percent else (value, half)
        elif found := _FIGURE.search(text):
            self._figures[_MEANING[found["name"].lower()]] = float(found["value"].replace(",", "") or 0)

    def window(self) -> Window | str:
        """The window, or why there is none. k is drafted/rounds: the list of positions may be shorter than k."""
        missing = [name for name in ("rounds", "drafted", "accepted") if name not in self._figures]
        if missing:
            return f"a benchmark's text without {', '.join(missing)}"
        rounds, drafted, accepted = (int(self._figures[name]) for name in ("rounds", "drafted", "accepted"))
        if not rounds or not drafted:
            return "no token was drafted in this benchmark"
        if accepted > drafted or drafted < rounds:
            return f"{accepted} accepted of {drafted} drafted tokens in {rounds} rounds cannot be"
        length = self._figures.get("length")
        if length is not None and not any(abs(length - bonus - accepted / rounds) <= 0.00501 for bonus in (0, 1)):
            return f"length {length:g} is not 1 + {accepted}/{rounds}"
        listed = len(self._rates)
        whole = drafted % rounds == 0
        k = drafted // rounds if whole else listed or None
        if k is not None and drafted > k * rounds:
            k = None
        counts, doubts = self._positions(rounds, accepted, k)
        return with_doubts(Window(rounds, accepted, drafted, counts, k, source="log", doubts=doubts))

    def _positions(self, rounds: int, accepted: int, k: int | None) -> tuple[tuple[int, ...], tuple[str, ...]]:
        listed = [self._rates[i] for i in range(len(self._rates)) if i in self._rates]
        if not listed or k is None or len(listed) != len(self._rates) or not k - 1 <= len(listed) <= k:
            return (), ()
        rates, half = [rate for rate, _ in listed], max(half for _, half in listed)
        doubts = []
        if len(listed) < k:  # the last one is what is left
            last = accepted / rounds - sum(rates)
            if not -half * k <= last <= rates[-1] + half * k:
                return (), ()
            rates.append(min(max(last, 0.0), rates[-1]))
            doubts.append(f"position {k - 1} is not listed: about {rates[-1]:.3f}, what the others leave")
            half *= k
        counts, spread = counts_of(rates, rounds, accepted, half)
        if counts is None:
            return (), ("the positions do not add up to the accepted tokens: left out",)
        if spread:
            doubts.append(f"per-position counts are within {spread} rounds (rounded figures)")
        return counts, tuple(doubts)


def is_figure(text: str) -> bool:
    """Whether a line is one of a benchmark's figures."""
    return _name(text) is not None


def _name(text: str) -> str | int | None:
    if found := _POSITION.match(text):
        return int(found["position"])
    found = _FIGURE.search(text)
    return _MEANING[found["name"].lower()] if found else None
