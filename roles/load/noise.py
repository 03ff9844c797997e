"""How much two runs of the same thing differ anyway: what a change must exceed before it is called one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roles.load.result import LoadResult

Floats = npt.NDArray[np.float64]

_RESAMPLES, _FEWEST_RESAMPLES = 1000, 200
_DRAWS = 1_000_000  # of prompts in all: thousands of them make bounds so narrow that fewer resamples tell them as well
_SEED = 20260102
_LEAST_PROMPTS = 8
_CONFIDENCE = 95

RUN_TO_RUN = 0.02
"""Relative: the same release measured twice, prompts and machine the same."""
_OF_A_WAIT = 0.05  # for the first token: other work on the line and the machine weighs more
_OF_A_TAIL = 0.10  # one or two requests decide a p99


@dataclass(frozen=True)
class Change:
    """A relative change's bounds (95 %); same: it is no larger than what two runs of the same thing may show."""

    low: float | None
    high: float | None
    same: bool


def requests_of(result: LoadResult) -> list[dict[str, object]]:
    """What a comparison needs of each whole answer, for the history. Times count from when a request was due."""
    return [
        {
            "prompt": sample.prompt.id,
            "kind": sample.prompt.kind,
            "started_s": round(sample.started_s, 6),
            "late_s": round(sample.late_s, 6),
            "ttft_s": sample.ttft_s,
            "latency_s": sample.e2e_s,
            "tokens": sample.completion.completion_tokens,
        }
        for sample in result.samples
        if sample.completion.ok
    ]


def judge(metric: str, change: float, before: object, after: object) -> Change:
    """Whether a relative change of one metric says anything; before, after: `requests_of` of both runs, or None.

    Prompts are drawn anew, in pairs, so that what makes a prompt slow cancels out; beyond that the noise from one run
    to the next is assumed, which no single run can show.
    """
    floor = _OF_A_TAIL if "p99" in metric else _OF_A_WAIT if metric.startswith("TTFT") else RUN_TO_RUN
    bounds = _bounds(metric, before, after)
    if bounds is None:
        return Change(None, None, abs(change) <= floor)
    low, high = bounds
    if not low - floor <= change <= high + floor:  # something else than the requests' own time has changed
        return Change(None, None, abs(change) <= floor)
    return Change(low, high, low <= 0 <= high or abs(change) <= floor)


def _bounds(metric: str, before: object, after: object) -> tuple[float, float] | None:
    statistic = _STATISTICS.get(metric)
    old, new = _by_prompt(before), _by_prompt(after)
    shared = [prompt for prompt in old if prompt in new]
    if statistic is None or len(shared) < _LEAST_PROMPTS:
        return None
    resamples = min(_RESAMPLES, max(_FEWEST_RESAMPLES, _DRAWS // len(shared)))
    picks = np.random.default_rng(_SEED).integers(0, len(shared), (resamples, len(shared)))
    with np.errstate(divide="ignore", invalid="ignore"):
        was, now = (
            statistic(np.array([requests[prompt] for prompt in shared], dtype=float)[picks]) for requests in (old, new)
        )
        ratios = now / was - 1
    if not np.isfinite(ratios).all():
        return None
    low, high = np.percentile(ratios, [(100 - _CONFIDENCE) / 2, (100 + _CONFIDENCE) / 2])
    return float(low), float(high)


def _by_prompt(requests: object) -> dict[str, tuple[float, float, float]]:
    """Prompt -> (TTFT, latency, tokens); requests that lack one are left out."""
    found: dict[str, tuple[float, float, float]] = {}
    for request in requests if isinstance(requests, Sequence) and not isinstance(requests, str) else ():
        if not isinstance(request, Mapping):
            continue
        ttft_s, latency_s, tokens = (request.get(name) for name in ("ttft_s", "latency_s", "tokens"))
        if isinstance(ttft_s, int | float) and isinstance(latency_s, int | float) and isinstance(tokens, int):
            found[str(request.get("prompt"))] = (ttft_s, latency_s, tokens)
    return found


def _tpot(drawn: Floats) -> Floats:
    return np.asarray((drawn[..., 1] - drawn[..., 0]) / np.maximum(drawn[..., 2] - 1, 1))


def _stream(drawn: Floats) -> Floats:
    return np.asarray(drawn[..., 2].sum(axis=1) / drawn[..., 1].sum(axis=1))


_STATISTICS: Mapping[str, Callable[[Floats], Floats]] = {
    "all streams": _stream,
    "one stream": _stream,
    "after the first token": lambda drawn: np.asarray(
        (drawn[..., 2] - 1).sum(axis=1) / (drawn[..., 1] - drawn[..., 0]).sum(axis=1)
    ),
    "TTFT p50": lambda drawn: np.asarray(np.percentile(drawn[..., 0], 50, axis=1)),
    "TTFT p99": lambda drawn: np.asarray(np.percentile(drawn[..., 0], 99, axis=1)),
    "TPOT mean": lambda drawn: np.asarray(_tpot(drawn).mean(axis=1)),
    "TPOT p99": lambda drawn: np.asarray(np.percentile(_tpot(drawn), 99, axis=1)),
    "end to end p50": lambda drawn: np.asarray(np.percentile(drawn[..., 1], 50, axis=1)),
}
"""Of draws (draws, prompts, 3): TTFT, latency, tokens."""
