"""vLLM's SpecDecoding line (0.8.5-0.33, Python and Rust) and the statistics line before it."""

import re
from dataclasses import dataclass
from math import fsum, isclose

from roles.acceptance.rounding import counts_of, rounds_from
from roles.acceptance.window import Window, with_doubts

# metrics.py: this part is the same in all versions, also in a tail without its head. The rest is read by names:
# the rate stands first up to 0.10.1 and last from 0.10.2, and the list of positions is itself full of commas.
_COUNTS = re.compile(
    r"Accepted: (?P<accepted>\d{1,15}) tokens, Drafted: (?P<drafted>\d{1,15}) tokens, "
    r"Per-position acceptance rate: (?P<rates>(?:\d\.\d{3}|nan)(?:, (?:\d\.\d{3}|nan))*)(?P<rest>.*)$"
)
_SPEC = re.compile(r"SpecDecoding metrics:|Accepted: \d+ tokens, Drafted:|Per-position acceptance rate:")
_LENGTH = re.compile(r"Mean acceptance length: (\d{1,4}\.\d{2}|nan)")
_RATE_FIRST = re.compile(r"SpecDecoding metrics: Draft acceptance rate: (\d{1,3}\.\d|nan)%")
_RATE_LAST = re.compile(r"^, Avg Draft acceptance rate: (\d{1,3}\.\d|nan)%")
_MORE_RATES = re.compile(r"^(?:, ?)?[\d.]|^,\s*$")
_DRAFTED_PER_S = re.compile(r"Drafted throughput: (\d{1,9}\.\d{2}) tokens/s")
_STATS = re.compile(
    r"(?:Engine (?P<engine>\d{1,6}): |(?P<engines>\d{1,6}) Engines Aggregated: )?"
    r"Avg prompt (?:throughput|tput): [\d.]+ (?:tokens|toks)/s, "
    r"Avg generation (?:throughput|tput): (?P<generation>\d{1,12}\.\d) (?:tokens|toks)/s"
)
_RUNNING = re.compile(r"Running: (\d{1,6})")


@dataclass(frozen=True)
class Stats:
    """A statistics line: engine index as the counters' label says it ("0" for "000"), tokens generated a second.

    running: requests at that moment
    """

    engine: str | None
    generation_per_s: float
    at: str | None
    running: int | None = None


@dataclass(frozen=True)
class Places:
    """Where the figures of a spec line stand in it: (start, end) of each."""

    accepted: tuple[int, int]
    drafted: tuple[int, int]
    rates: tuple[tuple[int, int], ...]
    rate: tuple[int, int]
    length: tuple[int, int] | None


def stats_of(text: str, at: str | None) -> Stats | None:
    """Read a statistics line; None for any other."""
    found = _STATS.search(text)
    if found is None:
        return None
    engine = None if found["engine"] is None else str(int(found["engine"]))
    running = _RUNNING.search(text)
    return Stats(engine, float(found["generation"]), at, int(running[1]) if running else None)


def is_spec(text: str) -> bool:
    """Whether the line is about speculation, whole or cut."""
    return _SPEC.search(text) is not None


def places_of(text: str) -> Places | None:
    """Where the figures are that `window_of` counts with; None for a line that is cut, or where one is no number."""
    found, length = _COUNTS.search(text), _LENGTH.search(text)
    rate = _rate_of(text, found) if found else None
    if found is None or rate is None or "nan" in (rate[1], length[1] if length else None) or "nan" in found["rates"]:
        return None
    if rate.re is _RATE_FIRST and _MORE_RATES.match(found["rest"]):
        return None
    shift = found.start("rest") if rate.re is _RATE_LAST else 0
    start = found.start("rates")
    rates = tuple((start + one.start(), start + one.end()) for one in re.finditer(r"[\d.]+", found["rates"]))
    return Places(
        found.span("accepted"),
        found.span("drafted"),
        rates,
        (rate.start(1) + shift, rate.end(1) + shift),
        length.span(1) if length else None,
    )


def since_last_s(text: str) -> float | None:
    """Seconds since the spec line before it: what Drafted and Drafted throughput say. Idle time counts."""
    counts, speed = _COUNTS.search(text), _DRAFTED_PER_S.search(text)
    if counts is None or speed is None or float(speed[1]) <= 0:
        return None
    return int(counts["drafted"]) / float(speed[1])


def window_of(text: str, at: str | None, stats: Stats | None, *, unequal: bool) -> Window | str:
    """The window of a spec line, or why it cannot be used.

    Rounds are drafted/k, where k is the number of positions and every other figure agrees. Otherwise, or when it is
    known that drafts may be shorter than k (`unequal`: n-gram, suffix), they come from accepted/(length - 1) and the
    rates; what rounding leaves open is said in doubts. span_s is the time that the tokens take at the statistics line's
    generation throughput: the throughputs on the spec line itself include idle time.
    """
    found = _COUNTS.search(text)
    if found is None:
        return "the line is cut"
    rate = _rate_of(text, found)
    if rate is None:
        return "the line is cut"  # only its closing rate tells that the list of positions is whole
    if rate.re is _RATE_FIRST and _MORE_RATES.match(found["rest"]):
        return "the line is cut inside the list of positions"
    accepted, drafted = int(found["accepted"]), int(found["drafted"])
    printed = found["rates"].split(", ")
    if not drafted or "nan" in printed:
        return "no token was drafted in this window"
    if rate[1] != "nan" and not isclose(float(rate[1]), 100 * accepted / drafted, rel_tol=0, abs_tol=0.0501):
        return f"acceptance rate {rate[1]} % is not {accepted}/{drafted}"
    length = _LENGTH.search(text)
    mean = float(length[1]) if length and length[1] != "nan" else None
    window = _counted([float(one) for one in printed], accepted, drafted, mean, unequal=unequal)
    if isinstance(window, str):
        return window
    if stats is None or (None not in (stats.at, at) and stats.at != at):
        return window
    span_s = (accepted + window.rounds) / stats.generation_per_s if stats.generation_per_s else None
    return Window(**{**vars(window), "engine": stats.engine, "span_s": span_s})


def _rate_of(text: str, found: re.Match[str]) -> re.Match[str] | None:
    """The acceptance rate behind the counts, or else before them."""
    return _RATE_LAST.match(found["rest"]) or _RATE_FIRST.search(text)


def _counted(rates: list[float], accepted: int, drafted: int, length: float | None, *, unequal: bool) -> Window | str:
    k = len(rates)
    doubts = []
    rounds, left = divmod(drafted, k)
    counts: tuple[int, ...] | None = None
    spread = 0
    if not left and not unequal and _is_length(length, accepted / rounds):
        counts, spread = counts_of(rates, rounds, accepted)
    if counts is None:
        fitting = rounds_from(accepted, drafted, rates, _without_bonus(length, rates))
        if fitting is None and not accepted and not any(rates):
            return f"nothing was accepted of {drafted} drafted tokens of unequal length: rounds unknown"
        if fitting is None:
            return f"the positions do not add up to {accepted} accepted of {drafted} drafted tokens in any rounds"
        rounds, fewest, most = fitting
        counts, spread = counts_of(rates, rounds, accepted)
        if counts is None:
            return f"the positions do not add up to {accepted} accepted tokens in {rounds} rounds"
        if fewest < most:
            doubts.append(f"rounds are between {fewest} and {most}: drafts of unequal length, from rounded figures")
    if spread:
        doubts.append(f"per-position counts are within {spread} rounds (the log prints three digits)")
    window = Window(rounds, accepted, drafted, counts, k, source="log", doubts=tuple(doubts))
    return with_doubts(window)


def _is_length(printed: float | None, mean: float) -> bool:
    """0.8.5 prints the mean without the bonus token, 0.9 and later with it."""
    if printed is None:
        return True
    return any(isclose(printed, value, rel_tol=0, abs_tol=0.00501) for value in (1 + mean, mean))


def _without_bonus(printed: float | None, rates: list[float]) -> float | None:
    """The printed length without the bonus token, whichever the version prints: the one near the sum of the rates."""
    if printed is None:
        return None
    total = fsum(rates)
    return printed if abs(printed - total) < abs(printed - 1 - total) else printed - 1
