"""SGLang's Decode lines (0.4.3-0.5.23): acceptance length as vLLM means it, and a rate that has had two meanings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor

from roles.acceptance.fragment import Fragment
from roles.acceptance.window import Window

_PAIR = re.compile(r"(?:^|, |batch(?: \[\d{1,12}\])?[.,] )([#A-Za-z][\w ./#()-]{0,60}?): ([\w.-]{1,24}%?)(?=,|\s*$)")
_HEAD = re.compile(r"\[(?:(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d{3})?)?(?P<ranks>(?: ?[A-Z_]{2,8}\d{1,4})*)\]")
_RANK = re.compile(r"([A-Z_]{2,8}?)(\d{1,4})(?= |$)")
_INTERVAL = re.compile(r"decode_log_interval=(\d{1,6})")
_DRAFT_TOKENS = re.compile(r"speculative_num_draft_tokens=(\d{1,4})\b")
_ANY = re.compile(r"(?<![\w-])(?<!block )accept len: ")
_SILENT = re.compile(r"\] Decode batch(?: \[\d+\])?[.,] (?!.*accept len)")
_USUAL_INTERVAL = 40
_MOST_K = 64
_MOST_TICKS = 8192


@dataclass(frozen=True)
class _Tick:
    number: int
    at: str | None
    rank: str | None
    length: float
    rate: float | None
    running: int | None
    exact: tuple[int, int] | None
    """(tokens, rounds) where a fork prints them."""
    lines: int = 1
    """How many lines it stands for; more than one where many were added up."""


def is_line(text: str) -> bool:
    """Whether a line says an acceptance length in SGLang's words."""
    return _ANY.search(text) is not None


def is_without_speculation(text: str) -> bool:
    """Whether it is a Decode line of a server that does not speculate: with speculation each has a length."""
    return _SILENT.search(text) is not None


class Ticks:
    """Decode lines in their order. What they mean together (k, which rate) is known when all of them were seen."""

    def __init__(self) -> None:
        self._ticks: list[_Tick] = []
        self._new: set[int] | None = None
        self._old: set[int] | None = None
        self._last: tuple[str, str | None, set[str]] | None = None
        self._interval = _USUAL_INTERVAL
        self._draft_tokens: int | None = None
        self._estimated = False

    def __len__(self) -> int:
        return len(self._ticks)

    def setup(self, text: str) -> None:
        """Learn from the line with the server's arguments."""
        if found := _INTERVAL.search(text):
            self._interval = max(1, int(found[1]))
        if found := _DRAFT_TOKENS.search(text):
            self._draft_tokens = int(found[1])

    def line(self, number: int, text: str) -> str | None:
        """Take a line; says why when it cannot be used."""
        ranks, at, body = {}, None, text
        for head in _HEAD.finditer(text):
            if head["ranks"] or head["at"]:
                ranks, at, body = dict(_RANK.findall(head["ranks"])), head["at"], text[head.end() :]
        pairs = {match[1].strip(): match[2] for match in _PAIR.finditer(body)}
        length = _number(pairs.get("accept len"))
        if length is None or length < 1:
            return "the line is cut, or its acceptance length is no number"
        dp = ranks.get("DP")
        # All ranks of a tensor-parallel group do the same work: what another one repeats is not more of it.
        worker = ranks.get("TP")
        if worker is not None and self._last and self._last[:2] == (body, dp) and worker not in self._last[2]:
            self._last[2].add(worker)
            return f"TP{worker} repeats what another rank of its group said"
        self._last = (body, dp, {worker} if worker is not None else set())
        tokens, rounds = _whole(pairs.get("spec tokens")), _whole(pairs.get("spec rounds"))
        if tokens is not None and rounds is not None and (rounds <= 0 or tokens < rounds):
            return f"{tokens} tokens in {rounds} rounds cannot be"
        rate = _number(pairs.get("accept rate"))
        if rate is not None:
            self._narrow(length, rate)
        self._ticks.append(
            _Tick(
                number,
                at,
                dp,
                length,
                rate,
                _whole(pairs.get("#running-req")),
                (tokens, rounds) if tokens is not None and rounds is not None else None,
            )
        )
        if len(self._ticks) >= _MOST_TICKS:
            self._ticks = self._halved()
        return None

    def _halved(self) -> list[_Tick]:
        """Neighbours of one rank added up; of lines without a weight every other one is left out."""
        result: list[_Tick] = []
        for first, second in zip(self._ticks[::2], self._ticks[1::2], strict=False):
            one, other = self._counts(first), self._counts(second)
            if one is None or other is None or first.rank != second.rank:
                result += [tick for tick, counts in ((first, one), (second, other)) if counts][:1] or [first]
                continue
            tokens, rounds = one[0] + other[0], one[1] + other[1]
            lines = first.lines + second.lines
            result.append(
                _Tick(second.number, second.at, first.rank, tokens / rounds, None, None, (tokens, rounds), lines)
            )
        return result

    def _counts(self, tick: _Tick) -> tuple[int, int] | None:
        """(tokens, rounds) of a line; a line covers `decode_log_interval` rounds for every running request."""
        if tick.exact or not tick.running:
            return tick.exact
        rounds = self._interval * tick.running
        self._estimated = True
        return rounds + round((tick.length - 1) * rounds), rounds

    def meaning(self) -> tuple[int | None, str | None]:
        """k, and the meaning of the rate: "new" (0.5.11 and later: accepted/drafted), "old" (length/(k+1)), or None.

        Only numbers of draft tokens that fit every line are left; where both meanings have one, the newer is taken.
        """
        new, old = self._new or set(), self._old or set()
        meaning = "new" if new else "old" if old else None
        if self._draft_tokens is not None and self._draft_tokens > 1:
            k = self._draft_tokens - 1
            return k, "old" if k in old and k not in new else meaning
        fitting = new or old
        return (next(iter(fitting)) if len(fitting) == 1 else None), meaning

    def notes(self) -> Iterator[str]:
        """How the rate was understood."""
        k, meaning = self.meaning()
        if meaning:
            which = "accepted/drafted (SGLang 0.5.11 and later)" if meaning == "new" else "length/(k+1) (up to 0.5.10)"
            yield f"SGLang's accept rate is read as {which}, k={k or 'unknown'}"

    def results(self) -> Iterator[tuple[int, str | None, Window, int] | Fragment]:
        """(line, time, window, lines) for lines with a weight, fragments for those without, in their order.

        A very long log has neighbours of one rank added up.
        """
        k, _ = self.meaning()
        for tick in self._ticks:
            counts = self._counts(tick)
            rounds = counts[1] if counts else None
            if rounds is None or k is None:
                missing = [] if rounds else ["rounds"]
                missing += [] if k else ["the number of draft tokens"]
                said = f"SGLang's line does not say {' and '.join(missing)}"
                yield Fragment(tick.number, said, k=k, length=tick.length, rounds=rounds)
                continue
            accepted = min(counts[0] - rounds, k * rounds) if counts else 0
            doubts = (_estimated(self._interval),) if self._estimated else ()
            window = Window(rounds, accepted, k * rounds, k=k, engine=tick.rank, source="log", doubts=doubts)
            yield tick.number, tick.at, window, tick.lines

    def _narrow(self, length: float, rate: float) -> None:
        new, old = _fitting(length - 1, rate), {n - 1 for n in _fitting(length, rate)} - {0}
        if rate >= 0.01:  # less says nothing about k
            self._new = new if self._new is None else self._new & new
            self._old = old if self._old is None else self._old & old


def _estimated(interval: int) -> str:
    return f"rounds are about {interval} for each running request: SGLang prints a mean and no counts"


def _fitting(amount: float, rate: float) -> set[int]:
    """Whole numbers n for which amount/n rounds to rate, both being rounded to two digits."""
    low = (amount - 0.005) / (rate + 0.005)
    high = (amount + 0.005) / (rate - 0.005) if rate > 0.005 else _MOST_K
    return set(range(max(1, ceil(low - 1e-6)), min(_MOST_K, floor(high + 1e-6)) + 1))


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch(r"\d{1,9}(?:\.\d{1,6})?", text) else None


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"\d{1,12}", text) else None
