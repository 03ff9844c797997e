"""Makes load: a fixed number of requests in flight, each prompt once, with the server's counters before and after."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from inventory.errors import SpecrailError
from roles.load.client import complete, open_session
from roles.load.completion import Completion
from roles.load.endpoint import Endpoint
from roles.load.prompts import Prompt, digest
from roles.load.result import LoadResult, Progress, Sample

_Ask = Callable[[Prompt], Awaitable[Completion]]
_Scrape = Callable[[], str | None]
_Tell = Callable[[Progress], None]


def run_load(
    endpoint: Endpoint,
    prompts: Sequence[Prompt],
    *,
    max_tokens: int,
    concurrency: int = 1,
    warmup: int = 0,
    temperature: float = 0,
    seed: int | None = None,
    timeout_s: float = 300,
    deadline_s: float | None = None,
    extra_body: Mapping[str, object] | None = None,
    on_progress: _Tell | None = None,
    scrape: _Scrape | None = None,
    settle_s: float = 0.1,
) -> LoadResult:
    """Send each prompt once, `concurrency` at a time, the next one as soon as an answer is whole (closed loop).

    warmup requests go first, with prompts of their own: no counted prompt is then in the server's prefix cache by them.
    timeout_s is a request's. deadline_s is the whole run's: what is in flight then fails as "deadline".
    scrape returns the text of /metrics or None; it runs in another thread. A SpecrailError of it counts as None.
    It is called before the counted span and settle_s after it: vLLM counts a round a moment after it has sent it.
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
            warming = _Span(ask, _warmup_prompts(warmup), tell=_as_warmup(on_progress))
            await warming.run(concurrency, deadline)
            before = await _scraped(scrape)
            started_at = datetime.now(UTC)
            span = _Span(ask, prompts, tell=on_progress)
            await span.run(concurrency, deadline)
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
                concurrency=concurrency,
                temperature=temperature,
                seed=seed,
                extra_body=dict(extra_body or {}),
                counters_before=before,
                counters_after=await _scraped(scrape),
            )

    return asyncio.run(run())


class _Span:
    """A stretch of load: workers that take the next prompt from one row until it is empty, or the time is up."""

    def __init__(self, ask: _Ask, prompts: Sequence[Prompt], *, tell: _Tell | None) -> None:
        self.samples: dict[int, Sample] = {}
        self.wall_s = 0.0
        self._ask = ask
        self._prompts = prompts
        self._tell = tell
        self._began = 0.0
        self._next = 0
        self._in_flight: dict[int, float] = {}

    async def run(self, concurrency: int, deadline: float | None) -> None:
        """Fill `samples` and `wall_s`. deadline is a time of the loop's clock."""
        self._began = time.perf_counter()
        workers = [asyncio.create_task(self._work()) for _ in range(min(concurrency, len(self._prompts)))]
        try:
            async with asyncio.timeout_at(deadline):
                await asyncio.gather(*workers)
        except TimeoutError:
            for index, started_s in self._in_flight.items():
                late = _too_late(self._elapsed_s() - started_s)
                self.samples[index] = Sample(self._prompts[index], started_s, late)
        finally:
            self.wall_s = self._elapsed_s()
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self) -> None:
        while self._next < len(self._prompts):
            index, self._next = self._next, self._next + 1
            self._in_flight[index] = started_s = self._elapsed_s()
            sample = Sample(self._prompts[index], started_s, await self._ask(self._prompts[index]))
            del self._in_flight[index]
            self.samples[index] = sample
            if self._tell is not None:
                self._tell(self._progress(sample))

    def _elapsed_s(self) -> float:
        return time.perf_counter() - self._began

    def _progress(self, latest: Sample) -> Progress:
        answers = [sample.completion for sample in self.samples.values()]
        return Progress(
            done=len(answers),
            total=len(self._prompts),
            failed=sum(not answer.ok for answer in answers),
            output_tokens=sum(answer.completion_tokens or 0 for answer in answers),
            elapsed_s=self._elapsed_s(),
            latest=latest,
        )


def _warmup_prompts(count: int) -> list[Prompt]:
    # The number stands first: what follows is then no common prefix of theirs either.
    return [
        Prompt.user(f"{number}. Tell me in a few sentences how a bicycle pump works.", name=f"warmup-{number}")
        for number in range(1, count + 1)
    ]


def _as_warmup(tell: _Tell | None) -> _Tell | None:
    return None if tell is None else lambda progress: tell(replace(progress, warming_up=True))


async def _scraped(scrape: _Scrape | None) -> str | None:
    try:
        return None if scrape is None else await asyncio.to_thread(scrape)
    except SpecrailError:
        return None  # no counts is an answer: whoever needs them says so


def _too_late(after_s: float) -> Completion:
    return Completion(
        text="",
        reasoning="",
        model=None,
        finish_reason=None,
        prompt_tokens=None,
        completion_tokens=None,
        ttft_s=None,
        arrivals_s=(),
        latency_s=after_s,
        error="deadline",
        detail="the run's time was up",
    )
