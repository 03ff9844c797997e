"""vLLM's statistics in a log: each SpecDecoding line becomes an exact window, or is thrown out with a reason."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, fsum, isclose

from roles.acceptance.window import Window

# Colour codes, whole, typed out ("ESC[1;36m"), or with the ESC byte lost in a copy ("[1;36m").
_ANSI = re.compile(r"(?:\x1b|ESC)?\[[0-9;]{1,12}m")
_PID = re.compile(r"\(\w[\w. =-]* pid=(\d{1,9})\)")

# vLLM 0.8.5-0.33, metrics.py: this part is the same in all of them, also in a tail without its head. The rest is read
# by names: the rate stands first up to 0.10.1 and last from 0.10.2, and the list of positions is itself full of commas.
_COUNTS = re.compile(
    r"Accepted: (?P<accepted>\d{1,15}) tokens, Drafted: (?P<drafted>\d{1,15}) tokens, "
    r"Per-position acceptance rate: (?P<rates>(?:\d\.\d{3}|nan)(?:, (?:\d\.\d{3}|nan))*)(?P<rest>.*)$"
)
_SPEC = re.compile(r"SpecDecoding metrics:|Accepted: \d+ tokens, Drafted:|Per-position acceptance rate:")
_LENGTH = re.compile(r"Mean acceptance length: (\d{1,4}\.\d{2}|nan)")
_RATE_FIRST = re.compile(r"SpecDecoding metrics: Draft acceptance rate: (\d{1,3}\.\d|nan)%")
_RATE_LAST = re.compile(r"^, Avg Draft acceptance rate: (\d{1,3}\.\d|nan)%")
_MORE_RATES = re.compile(r"^(?:, ?)?[\d.]|^,\s*$")

_STATS = re.compile(
    r"(?:Engine (?P<engine>\d{1,6}): |(?P<engines>\d{1,6}) Engines Aggregated: )?"
    r"Avg prompt throughput: [\d.]+ tokens/s, Avg generation throughput: (?P<generation>\d{1,12}\.\d) tokens/s"
)

_SILENCERS = (
    (
        re.compile(r"disabling stats logging to avoid incomplete stats"),
        "several API servers: vLLM logs no statistics with api-server-count > 1 (read /metrics instead)",
    ),
    (
        re.compile(r"--disable-log-stats|'disable_log_stats': True"),
        "statistics are off (--disable-log-stats): neither the log nor /metrics counts drafts",
    ),
    (re.compile(r"speculative_config=None"), "the engine runs without speculation (speculative_config=None)"),
)
_VLLM = re.compile(r"\b(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d \[|vllm", re.IGNORECASE)
_V0 = re.compile(r"Speculative metrics: Draft acceptance rate:")


@dataclass(frozen=True)
class ThrownOut:
    """A line that is about speculation and was not counted. number is 1-based; text is cut to 400 characters."""

    number: int
    text: str
    reason: str


@dataclass(frozen=True)
class Reading:
    """What a log says. windows and thrown_out are in the order of the lines.

    why_nothing: the reason for having no window, None when there is one.
    """

    windows: tuple[Window, ...]
    thrown_out: tuple[ThrownOut, ...]
    why_nothing: str | None


@dataclass(frozen=True)
class _Stats:
    engine: str | None
    generation_per_s: float


def read(lines: Iterable[bytes]) -> Reading:
    """Read a log, line by line (b"...".splitlines(), or an open binary file). Any bytes will do; nothing raises.

    Windows have source "log". Rounds are drafted/k, where k is the number of positions and all else on the line agrees
    with it. The engine index comes from the stats line just before, of the same process. span_s is the time that the
    tokens take at the stats line's generation throughput: the throughputs on the spec line itself include idle time.
    """
    windows: list[Window] = []
    thrown_out: list[ThrownOut] = []
    last_stats: dict[str, _Stats] = {}
    stats_lines = 0
    reasons: list[str] = []
    of_vllm = any_line = False
    for number, raw in enumerate(lines, start=1):
        line = _ANSI.sub("", raw.decode("utf-8", errors="replace")).rstrip("\r\n")
        any_line = any_line or bool(line.strip())
        process = match[1] if (match := _PID.search(line)) else ""
        if stats := _STATS.search(line):
            stats_lines += 1
            last_stats[process] = _Stats(_index(stats["engine"]), float(stats["generation"]))
        elif _SPEC.search(line):
            window = _window(line, last_stats.pop(process, None))
            if isinstance(window, Window):
                windows.append(window)
            else:
                thrown_out.append(ThrownOut(number, line[:400], window))
        elif _V0.search(line):
            thrown_out.append(ThrownOut(number, line[:400], "a line of the V0 engine: its counts are cumulative"))
        else:
            of_vllm = of_vllm or _VLLM.search(line) is not None
            reasons += [reason for pattern, reason in _SILENCERS if pattern.search(line) and reason not in reasons]
    if windows:
        return Reading(tuple(windows), tuple(thrown_out), None)
    if thrown_out:
        why = f"none of the {len(thrown_out)} lines about speculation can be counted: {thrown_out[0].reason}"
    elif reasons:
        why = "; ".join(reasons)
    elif stats_lines:
        why = f"{stats_lines} statistics lines and none about speculation: no drafts were made"
    elif of_vllm:
        why = "no statistics lines: nothing was served yet, or VLLM_LOGGING_LEVEL is above INFO"
    else:
        why = "no line of vLLM in it: is this the engine's log?" if any_line else "the log is empty"
    return Reading((), tuple(thrown_out), why)


def _index(engine: str | None) -> str | None:
    """Three digits as the counters' label says it: "0" for "000"."""
    return None if engine is None else str(int(engine))


def _window(line: str, stats: _Stats | None) -> Window | str:
    """The window of a spec line, or why it cannot be used."""
    found = _COUNTS.search(line)
    if found is None:
        return "the line is cut"
    rate_first, rate_last = _RATE_FIRST.search(line), _RATE_LAST.match(found["rest"])
    if rate_first is None and rate_last is None:
        return "the line is cut"  # only its closing rate tells that the list of positions is whole
    if rate_first and not rate_last and _MORE_RATES.match(found["rest"]):
        return "the line is cut inside the list of positions"
    accepted, drafted = int(found["accepted"]), int(found["drafted"])
    rates = found["rates"].split(", ")
    if not drafted or "nan" in rates:
        return "no token was drafted in this window"
    k = len(rates)
    rounds, left = divmod(drafted, k)
    if left:
        return f"{drafted} drafted tokens are not a multiple of {k} positions: drafts of unequal length, rounds unknown"
    if broken := _disagreement(line, accepted, drafted, rounds, rate_first or rate_last):
        return broken
    counts, spread = _counts([float(rate) for rate in rates], rounds, accepted)
    if counts is None:
        return f"the positions do not add up to {accepted} accepted tokens in {rounds} rounds"
    span_s = (accepted + rounds) / stats.generation_per_s if stats and stats.generation_per_s else None
    return Window(
        rounds=rounds,
        accepted=accepted,
        drafted=drafted,
        per_position=counts,
        k=k,
        span_s=span_s,
        engine=stats.engine if stats else None,
        source="log",
        doubts=(f"per-position counts are within {spread} rounds (the log prints three digits)",) if spread else (),
    )


def _disagreement(line: str, accepted: int, drafted: int, rounds: int, rate: re.Match[str] | None) -> str | None:
    """What on the line contradicts rounds = drafted/k, to the digits that are printed."""
    mean = accepted / rounds
    length = _LENGTH.search(line)
    if length and length[1] != "nan":
        # 0.8.5 prints the mean without the bonus token, 0.9 and later with it.
        printed = float(length[1])
        if not any(isclose(printed, value, rel_tol=0, abs_tol=0.00501) for value in (1 + mean, mean)):
            return f"length {length[1]} is not 1 + {accepted}/{rounds}: drafts of unequal length, rounds unknown"
    if rate and rate[1] != "nan" and not isclose(float(rate[1]), 100 * accepted / drafted, rel_tol=0, abs_tol=0.0501):
        return f"acceptance rate {rate[1]} % is not {accepted}/{drafted}"
    return None


def _counts(rates: list[float], rounds: int, accepted: int) -> tuple[tuple[int, ...] | None, int]:
    """Rounds in which each position was accepted, and by how many each may be off. None when they cannot add up.

    A rate has three digits, so below 1000 rounds only one count fits it. Above, the nearest counts are moved inside
    what the digits allow until their sum is the exact one.
    """
    if any(later > earlier for earlier, later in pairwise(rates)) or rates[0] > 1:
        return None, 0
    if abs(fsum(rates) - accepted / rounds) > 0.00051 * len(rates):
        return None, 0
    lows = [max(0, ceil((rate - 0.000501) * rounds)) for rate in rates]
    highs = [min(rounds, floor((rate + 0.000501) * rounds)) for rate in rates]
    counts = [min(max(round(rate * rounds), low), high) for rate, low, high in zip(rates, lows, highs, strict=True)]
    missing = accepted - sum(counts)
    order = range(len(counts)) if missing > 0 else reversed(range(len(counts)))  # keeps the counts non-increasing
    for i in order:
        room = (highs[i] if missing > 0 else lows[i]) - counts[i]
        move = min(missing, room) if missing > 0 else max(missing, room)
        counts[i] += move
        missing -= move
    spread = max(high - low for low, high in zip(lows, highs, strict=True))
    return (tuple(counts) if not missing else None), spread
