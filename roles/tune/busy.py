"""How fast tokens come while every stream is busy: a run's last requests have the engine to themselves."""

from collections.abc import Mapping, Sequence

Request = Mapping[str, object]
"""started_s, ttft_s, latency_s and tokens of one answer; times of one run, since its begin."""


def busy_speed(requests: Sequence[Request], streams: int) -> float | None:
    """tok/s of so many streams together after their first tokens, while none of them was idle; None when none were.

    That is from the moment when as many were sent as go at a time, to when the last was sent; where all were sent at
    once, to when the first came back. An answer's tokens are taken as spread evenly over its time.
    """
    spans = sorted(span for request in requests if (span := _span(request)) is not None)
    if len(spans) < streams:
        return None
    begin = spans[streams - 1][0]
    end = spans[-1][0] if len(spans) > streams else min(back for _, _, back, _ in spans)
    tokens = time_s = 0.0
    for _, first, back, count in spans:
        inside = min(back, end) - max(first, begin)
        if inside > 0:
            tokens += (count - 1) * inside / (back - first)
            time_s += inside
    return streams * tokens / time_s if tokens and time_s else None


def _span(request: Request) -> tuple[float, float, float, float] | None:
    """When it was sent, got its first token, and came back; and its tokens."""
    sent, first, back, tokens = (_number(request, key) for key in ("started_s", "ttft_s", "latency_s", "tokens"))
    if sent is None or first is None or back is None or tokens is None or tokens < 2 or back <= first:
        return None
    return sent, sent + first, sent + back, tokens


def _number(request: Request, key: str) -> float | None:
    value = request.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
