"""A stretch of load: requests that are sent when their turn or their time comes, and what became of each."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from roles.load.completion import Completion
from roles.load.prompts import Prompt
from roles.load.result import Progress, Sample

Ask: TypeAlias = Callable[[Prompt], Awaitable[Completion]]
Tell: TypeAlias = Callable[[Progress], None]


class Span:
    """Sends each prompt once, in a closed loop (`in_turn`) or in an open one (`when_due`); one of them, once.

    samples: by the prompt's place; wall_s: from the first request to the end of the last
    """

    def __init__(self, ask: Ask, prompts: Sequence[Prompt], *, tell: Tell | None) -> None:
        self.samples: dict[int, Sample] = {}
        self.wall_s = 0.0
        self._ask = ask
        self._prompts = prompts
        self._tell = tell
        self._began = 0.0
        self._next = 0
        self._failed = 0
        self._output_tokens = 0
        self._in_flight: dict[int, tuple[float, float]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        # One request is made each time the loop goes round: tokens of other streams never wait for more than one.
        self._gate = asyncio.Lock()

    async def in_turn(self, concurrency: int, deadline: float | None) -> None:
        """`concurrency` at a time: the next one goes as soon as an answer is whole. deadline: of the loop's clock."""
        await self._until(deadline, self._workers(concurrency))

    async def when_due(self, schedule: Sequence[float], deadline: float | None) -> None:
        """Each at its time, seconds after the first, whatever became of those before it."""
        await self._until(deadline, self._departures(schedule))

    async def _until(self, deadline: float | None, work: Awaitable[None]) -> None:
        self._began = time.perf_counter()
        try:
            async with asyncio.timeout_at(deadline):
                await work
                await asyncio.gather(*self._tasks)
        except TimeoutError:
            for index, (started_s, late_s) in self._in_flight.items():
                waited_s = self._elapsed_s() - started_s
                self.samples[index] = Sample(self._prompts[index], started_s, _too_late(waited_s), late_s)
        finally:
            self.wall_s = self._elapsed_s()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _workers(self, concurrency: int) -> None:
        for _ in range(min(concurrency, len(self._prompts))):
            self._tasks.append(asyncio.create_task(self._work()))

    async def _work(self) -> None:
        while self._next < len(self._prompts):
            index, self._next = self._next, self._next + 1
            await self._send(index, None)
            await asyncio.sleep(
                0
            )  # other streams' tokens that are here already are read before the next request is made

    async def _departures(self, schedule: Sequence[float]) -> None:
        for index, due_s in enumerate(schedule):
            if (early_s := due_s - self._elapsed_s()) > 0:
                await asyncio.sleep(early_s)
            self._raise_what_failed()
            self._tasks.append(asyncio.create_task(self._send(index, due_s)))

    def _raise_what_failed(self) -> None:
        """A caller's own exception ends an open loop at the next departure, not after the last one."""
        for task in self._tasks:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error
        self._tasks = [task for task in self._tasks if not task.done()]

    async def _send(self, index: int, due_s: float | None) -> None:
        started_s = self._elapsed_s()
        late_s = 0.0 if due_s is None else max(0.0, started_s - due_s)
        self._in_flight[index] = (started_s, late_s)
        answer = await self._ask(self._prompts[index])
        late_s = 0.0 if due_s is None else late_s + answer.held_s
        sample = Sample(self._prompts[index], started_s, answer, late_s)
        del self._in_flight[index]
        self.samples[index] = sample
        self._failed += not sample.completion.ok
        self._output_tokens += sample.completion.completion_tokens or 0
        if self._tell is not None:
            self._tell(self._progress(sample))

    def _elapsed_s(self) -> float:
        return time.perf_counter() - self._began

    def _progress(self, latest: Sample) -> Progress:
        return Progress(
            done=len(self.samples),
            total=len(self._prompts),
            failed=self._failed,
            output_tokens=self._output_tokens,
            elapsed_s=self._elapsed_s(),
            latest=latest,
        )


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
