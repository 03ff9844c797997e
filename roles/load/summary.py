"""The numbers of a run: rates pooled over its requests, latencies with their percentiles."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from pydantic import TypeAdapter

from roles.load.completion import Completion
from roles.load.result import LoadResult, Sample
from roles.load.slo import Goodput, Slo, goodput


@dataclass(frozen=True)
class Spread:
    """A distribution in short. Percentiles interpolate linearly between the two nearest values, as numpy does."""

    count: int
    mean: float
    p50: float
    p90: float
    p99: float


@dataclass(frozen=True)
class InFlight:
    """Requests that were being answered at a time: over the whole run, and at most."""

    mean: float
    peak: int


@dataclass(frozen=True)
class Summary:
    """A run in numbers. Failed requests are in requests_failed and nowhere else; what is not known is None.

    TTFT: request sent to first text.                    TPOT: (latency - TTFT) / (tokens - 1), one value a request.
    ITL:  between two events that carried text; with speculation an event is a round of several tokens, so ITL grows
          while tok/s does too: compare TPOT.            E2E:  request sent to last token.
    In an open loop TTFT and E2E begin when a request was due, so that one that left late is not taken for a fast one
    (coordinated omission).
    """

    requests_ok: int
    requests_failed: dict[str, int]
    """By kind."""
    requests_unsent: int
    wall_s: float
    prompt_tokens: int | None
    output_tokens: int | None
    """Of all whole answers; None when one of them came without counts."""
    total_tok_s: float | None
    """Output tokens by wall clock: what the server gives to all streams together."""
    stream_tok_s: float | None
    """Output tokens by the streams' own time, waiting for the first token included: what one client gets."""
    decode_tok_s: float | None
    """The same after the first token: the inverse of a TPOT pooled over all tokens."""
    ttft_s: Spread | None
    tpot_s: Spread | None
    itl_s: Spread | None
    e2e_s: Spread | None
    late_s: Spread | None = None
    """How long after they were due requests left (open loop): the loading machine's doing, not the server's.

    None in a closed loop, and where the source of the load does not tell.
    """
    in_flight: InFlight | None = None
    goodput: Goodput | None = None
    """None without limits."""

    def as_json(self) -> dict[str, object]:
        """For --json and the history; `from_json` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: object) -> "Summary":
        """The summary that `as_json` wrote, also one of a later version with more in it. Raises ValueError."""
        return TypeAdapter(cls).validate_python(value)


def summarise(result: LoadResult, slo: Slo | None = None) -> Summary:
    """The numbers of a run. slo: limits that requests are held against."""
    whole = [sample for sample in result.samples if sample.completion.ok]
    answers = [sample.completion for sample in whole]
    output_tokens = _total(answer.completion_tokens for answer in answers)
    decoded = [part for answer in answers if (part := _decoded(answer)) is not None]
    return Summary(
        requests_ok=len(answers),
        requests_failed={str(kind): count for kind, count in result.failed.items()},
        requests_unsent=result.unsent,
        wall_s=result.wall_s,
        prompt_tokens=_total(answer.prompt_tokens for answer in answers),
        output_tokens=output_tokens,
        total_tok_s=_rate(output_tokens, result.wall_s),
        stream_tok_s=_rate(output_tokens, sum(sample.e2e_s for sample in whole)),
        decode_tok_s=_rate(sum(tokens for tokens, _ in decoded), sum(time_s for _, time_s in decoded)),
        ttft_s=_spread([ttft_s for sample in whole if (ttft_s := sample.ttft_s) is not None]),
        tpot_s=_spread([time_s / tokens for tokens, time_s in decoded]),
        itl_s=_spread([gap for answer in answers for gap in np.diff(answer.arrivals_s).tolist()]),
        e2e_s=_spread([sample.e2e_s for sample in whole]),
        late_s=_spread(late) if any(late := [sample.late_s for sample in result.samples]) else None,
        in_flight=_in_flight(result.samples, result.wall_s),
        goodput=goodput(result, slo) if slo else None,
    )


def _in_flight(samples: Sequence[Sample], wall_s: float) -> InFlight | None:
    if not samples or wall_s <= 0:
        return None
    spans = [(sample.started_s, sample.started_s + sample.completion.latency_s) for sample in samples]
    # An end before a start at the same time: a worker's next request is not beside its last one.
    steps = sorted([(end, -1) for _, end in spans] + [(start, 1) for start, _ in spans])
    now = peak = 0
    for _, step in steps:
        now += step
        peak = max(peak, now)
    return InFlight(sum(end - start for start, end in spans) / wall_s, peak)


def _decoded(answer: Completion) -> tuple[int, float] | None:
    """The tokens after the first one and the seconds that they took; None where there are none, or it is not known."""
    if answer.ttft_s is None or answer.completion_tokens is None or answer.completion_tokens < 2:
        return None
    return answer.completion_tokens - 1, answer.latency_s - answer.ttft_s


def _total(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)


def _rate(tokens: int | None, time_s: float) -> float | None:
    return tokens / time_s if tokens and time_s > 0 else None


def _spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    p50, p90, p99 = np.percentile(values, [50, 90, 99]).tolist()
    return Spread(len(values), float(np.mean(values)), p50, p90, p99)
