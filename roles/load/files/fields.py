"""What the results of other tools have in common: where they lie, how they write distributions, single requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from roles.load.values import known, number


@dataclass(frozen=True)
class Source:
    """Where a result was found. host: where it was measured; at: the file's time, where the result says none."""

    host: str
    name: str
    at: datetime


def spread_ms(document: object, name: str) -> dict[str, float] | None:
    """A distribution in seconds, out of what vLLM's and SGLang's benchmarks call mean_ttft_ms, median_ttft_ms ..."""
    found = {
        ours: value / 1e3
        for ours, theirs in (("mean", "mean"), ("p50", "median"), ("p90", "p90"), ("p99", "p99"))
        if (value := number(document, f"{theirs}_{name}_ms")) is not None
    }
    return found or None


def failures(ok: int | None, failed: int | None) -> tuple[dict[str, object], ...]:
    """A doubt about requests that failed; more than one in twenty spoils a run."""
    if not failed:
        return ()
    total = failed + (ok or 0)
    message = f"{failed} of {total} requests failed"
    return ({"kind": "failed", "message": message, "spoils": failed > total / 20, "prompts": []},)


def rates_of(requests: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """One stream's rates, pooled over requests as for a run of one's own (roles.load.summary)."""
    tokens, latency_s, decoded, decoding_s = 0.0, 0.0, 0.0, 0.0
    for request in requests:
        count, whole_s, first_s = (number(request, name) for name in ("tokens", "latency_s", "ttft_s"))
        if count is None or whole_s is None:
            return {}
        tokens, latency_s = tokens + count, latency_s + whole_s
        if first_s is not None and count > 1:
            decoded, decoding_s = decoded + count - 1, decoding_s + whole_s - first_s
    return known(
        {
            "stream_tok_s": tokens / latency_s if latency_s > 0 else None,
            "decode_tok_s": decoded / decoding_s if decoding_s > 0 else None,
        }
    )
