"""A stretch of load without a server: what counts from when."""

import asyncio
import time

from roles.load.completion import Completion
from roles.load.prompts import Prompt
from roles.load.span import Span

_DUE_S = 0.01
_BLOCKED_S = 0.05


def test_what_is_sent_late_counts_from_when_it_was_due() -> None:
    """The first request keeps the loop busy until the second is long due: that is not the server's merit."""

    async def ask(_: Prompt) -> Completion:
        until = time.perf_counter() + _BLOCKED_S
        while time.perf_counter() < until:
            pass
        return Completion(
            "a", "", None, None, None, 1, ttft_s=0.001, arrivals_s=(0.001,), latency_s=0.002, held_s=0.004
        )

    span = Span(ask, [Prompt.user(str(number), name=str(number)) for number in range(2)], tell=None)
    asyncio.run(span.when_due([0.0, _DUE_S], None))
    second = span.samples[1]
    assert second.late_s >= _BLOCKED_S - _DUE_S
    assert second.late_s == second.started_s - _DUE_S + 0.004
    assert second.ttft_s == 0.001 + second.late_s
    assert second.e2e_s == 0.002 + second.late_s
