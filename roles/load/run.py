"""Makes load: each prompt once, so many at a time or so many a second, with the server's counters before and after."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from inventory.errors import SpecrailError
from roles.load.arrivals import Arrivals
from roles.load.client import complete, connect_ahead, open_session
from roles.load.endpoint import Endpoint
from roles.load.engine_state import Gauges, gauges
from roles.load.prompts import Prompt, digest
from roles.load.result import LoadResult
from roles.load.span import Span, Tell

_Scrape = Callable[[], str | None]


def run_load(
    endpoint: Endpoint,
    prompts: Sequence[Prompt],
    *,
    max_tokens: int,
    concurrency: int = 1,
    arrivals: Arrivals | None = None,
    warmup: int = 0,
    temperature: float = 0,
    seed: int | None = None,
    timeout_s: float = 300,
    deadline_s: float | None = None,
    extra_body: Mapping[str, object] | None = None,
    on_progress: Tell | None = None,
    scrape: _Scrape | None = None,
    settle_s: float = 0.1,
    look_every_s: float = 1.0,
) -> LoadResult:
    """Send each prompt once, `concurrency` at a time, the next one as soon as an answer is whole (closed loop).

    arrivals: send them at its times instead, however many are in flight by then (open loop). A closed loop asks a slow
    server less often; what users who do not know of each other would have waited only an open one shows.
    Connections for a closed loop are opened before its span begins.
    warmup requests go first, with prompts of their own: no counted prompt is then in the server's prefix cache by them.
    timeout_s is a request's. deadline_s is the whole run's: what is in flight then fails as "deadline".
    scrape returns the text of /metrics or None; it runs in another thread. A SpecrailError of it counts as None.
    It is called before the counted span and settle_s after it: vLLM counts a round a moment after it has sent it.
    Meanwhile it is called every look_every_s, for what the engine is busy with.
    A failed request is a result, not an error. KeyboardInterrupt breaks off what is in flight and reaches the caller.
    """
    if concurrency < 1:
        raise ValueError("at least one at a time")

    async def run() -> LoadResult:
        deadline = None if deadline_s is None else asyncio.get_running_loop().time() + deadline_s
        async with open_session(endpoint) as session:
            ask = partial(
                complete,
                session,
                endpoint,
                max_tokens=max_tokens,
                temperature=temperature,
                seed=seed,
                timeout_s=timeout_s,
                extra_body=extra_body,
            )
            warming = Span(ask, _warmup_prompts(warmup), tell=_as_warmup(on_progress))
            await warming.in_turn(concurrency, deadline)
            before = await _scraped(scrape)
            if arrivals is None:
                await connect_ahead(session, endpoint, min(concurrency, len(prompts)))
            started_at = datetime.now(UTC)
            span = Span(ask, prompts, tell=on_progress)
            seen: list[Gauges] = []
            looking = asyncio.create_task(_look(scrape, look_every_s, seen))
            try:
                if arrivals is None:
                    await span.in_turn(concurrency, deadline)
                else:
                    await span.when_due(arrivals.schedule(len(prompts)), deadline)
            finally:
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)
            if scrape is not None:
                await asyncio.sleep(settle_s)
            return LoadResult(
                samples=tuple(span.samples[index] for index in sorted(span.samples)),
                unsent=len(prompts) - len(span.samples),
                wall_s=span.wall_s,
                started_at=started_at,
                model=endpoint.model,
                prompts=digest(prompts),
                max_tokens=max_tokens,
                concurrency=concurrency if arrivals is None else None,
                arrivals=arrivals,
                temperature=temperature,
                seed=seed,
                extra_body=dict(extra_body or {}),
                counters_before=before,
                counters_after=await _scraped(scrape),
                gauges=tuple(seen),
            )

    return asyncio.run(run())


def _warmup_prompts(count: int) -> list[Prompt]:
    # The number stands first: what follows is then no common prefix of theirs either.
    return [
        Prompt.user(f"{number}. Tell me in a few sentences how a bicycle pump works.", name=f"warmup-{number}")
        for number in range(1, count + 1)
    ]


def _as_warmup(tell: Tell | None) -> Tell | None:
    return None if tell is None else lambda progress: tell(replace(progress, warming_up=True))


async def _look(scrape: _Scrape | None, every_s: float, seen: list[Gauges]) -> None:
    wait_s = every_s / 4  # a short run is to be seen too
    while scrape is not None:
        await asyncio.sleep(wait_s)
        seen.append(gauges(await _scraped(scrape)))
        wait_s = every_s


async def _scraped(scrape: _Scrape | None) -> str | None:
    try:
        return None if scrape is None else await asyncio.to_thread(scrape)
    except SpecrailError:
        return None  # no counts is an answer: whoever needs them says so
