"""Shorthand for results that the pure rooms are fed with."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from roles.load.arrivals import Arrivals
from roles.load.completion import Completion, ErrorKind
from roles.load.prompts import Prompt
from roles.load.result import LoadResult, Sample

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def answer(
    text: str = "",
    *,
    tokens: int | None = 100,
    prompt_tokens: int | None = 10,
    ttft_s: float | None = 0.2,
    latency_s: float = 2.0,
    arrivals_s: Sequence[float] = (),
    error: ErrorKind | None = None,
    detail: str | None = None,
    model: str | None = "m",
    finish_reason: str | None = "length",
    reasoning: str = "",
) -> Completion:
    return Completion(
        text=text,
        reasoning=reasoning,
        model=model,
        finish_reason=finish_reason,
        prompt_tokens=prompt_tokens,
        completion_tokens=tokens,
        ttft_s=ttft_s,
        arrivals_s=tuple(arrivals_s),
        latency_s=latency_s,
        error=error,
        detail=detail,
        status=200,
    )


def load_result(
    answers: Sequence[Completion],
    *,
    wall_s: float = 10.0,
    unsent: int = 0,
    max_tokens: int = 100,
    concurrency: int = 1,
    arrivals: Arrivals | None = None,
    late_s: float = 0.0,
    apart_s: float = 1.0,
) -> LoadResult:
    samples = tuple(
        Sample(Prompt.user(f"prompt {number}", name=f"p{number}", kind="x"), apart_s * number, completion, late_s)
        for number, completion in enumerate(answers)
    )
    extra_body: Mapping[str, object] = {}
    return LoadResult(
        samples=samples,
        unsent=unsent,
        wall_s=wall_s,
        started_at=AT,
        model="m",
        prompts="test@0",
        max_tokens=max_tokens,
        concurrency=concurrency,
        temperature=0,
        seed=None,
        extra_body=extra_body,
        counters_before=None,
        counters_after=None,
        arrivals=arrivals,
    )
