"""The engine: requests wait, run together in steps, and each step gives each of them a round's tokens."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from vllm import physics
from vllm.clock import Clock
from vllm.rounds import Rounds
from vllm.stats import Counts, Load

_LARGEST_LAG_S = 5.0


class EngineDeadError(Exception):
    """The engine died; nothing brings it back."""

    def __init__(self) -> None:
        super().__init__("EngineCore encountered an issue. See stack trace (above) for the root cause.")


@dataclass(frozen=True)
class Output:
    """What one step gave a request: usually several tokens. finish_reason is None while it goes on."""

    text: str
    tokens: int
    finish_reason: str | None


@dataclass
class Request:
    """One completion on its way. Times are in engine seconds.

    tokens: pieces of the answer; None is the end-of-text token
    """

    prompt_tokens: int
    max_tokens: int
    ignore_eos: bool
    tokens: Iterator[str | None]
    rounds: Rounds
    arrived_s: float
    started_s: float = 0.0
    first_token_s: float = 0.0
    last_token_s: float = 0.0
    produced: int = 0
    steps: int = 0
    abandoned: bool = False
    outputs: "asyncio.Queue[Output | EngineDeadError]" = field(default_factory=asyncio.Queue)

    async def next_output(self) -> Output:
        """Wait for the next step's tokens. Raises EngineDeadError."""
        output = await self.outputs.get()
        if isinstance(output, EngineDeadError):
            raise output
        return output


@dataclass(frozen=True)
class Limits:
    """What the engine was started with; kv_tokens is the size of its KV cache.

    table: (first batch size, last, k), where k depends on the batch size
    """

    k: int
    rates: Sequence[float]
    seed: int
    max_num_seqs: int
    kv_tokens: int
    table: Sequence[tuple[int, int, int]] = ()

    def k_at(self, batch_size: int) -> int:
        """How many tokens are verified of each request; a gap and the end keep what was before."""
        found = [k for first, _, k in self.table if first <= batch_size]
        return min(self.k, found[-1]) if found else self.k


class Engine:
    """Steps as vLLM's scheduler makes them: new prompts join the running requests at the next step.

    fatal: what kills the first step; it logs why. None for an engine that lives
    """

    def __init__(self, clock: Clock, limits: Limits, fatal: Callable[[], None] | None = None) -> None:
        self.clock = clock
        self.counts = Counts(limits.k)
        self.dead = False
        self._limits = limits
        self._fatal = fatal
        self._waiting: deque[Request] = deque()
        self._running: list[Request] = []
        self._work = asyncio.Event()

    @property
    def load(self) -> Load:
        """What runs and waits now."""
        held = sum(request.prompt_tokens + request.produced for request in self._running)
        return Load(len(self._running), len(self._waiting), held / self._limits.kv_tokens)

    def submit(
        self,
        prompt: str,
        tokens: Iterator[str | None],
        *,
        prompt_tokens: int,
        max_tokens: int,
        ignore_eos: bool,
        temperature: float,
        variation: str,
    ) -> Request:
        """Queue a request. The prompt, the engine's seed and `variation` decide its rounds. Raises EngineDeadError."""
        if self.dead:
            raise EngineDeadError
        key = f"{self._limits.seed}\n{variation}\n{prompt}"
        request = Request(
            prompt_tokens=prompt_tokens,
            max_tokens=max_tokens,
            ignore_eos=ignore_eos,
            tokens=tokens,
            rounds=Rounds(self._limits.rates, key, temperature),
            arrived_s=self.clock.now_s(),
        )
        self._waiting.append(request)
        self._work.set()
        return request

    async def run(self) -> None:
        """Make steps while there is work, for ever, or until the engine dies."""
        due_s = 0.0
        while True:
            if not self._running and not self._waiting:
                self._work.clear()
                await self._work.wait()
                due_s = self.clock.now_s()
            decoding, new = self._schedule()
            if not decoding and not new:
                continue
            # Steps are due at fixed moments, so what this process needs for the work itself does not add up. A process
            # that was not run for long does not make up for all of it.
            due_s = max(due_s, self.clock.now_s() - _LARGEST_LAG_S)
            k = self._limits.k_at(len(decoding))
            due_s += physics.step_s(len(decoding), k, sum(request.prompt_tokens for request in new))
            await self.clock.until(due_s)
            if self._fatal is not None:
                self._fatal()
                self._die()
                return
            self._finish_step(decoding, new, k)

    def _die(self) -> None:
        self.dead = True
        for request in (*self._running, *self._waiting):
            request.outputs.put_nowait(EngineDeadError())
        self._running.clear()
        self._waiting.clear()

    def _schedule(self) -> tuple[list[Request], list[Request]]:
        for queue in (self._running, self._waiting):
            for request in [request for request in queue if request.abandoned]:
                queue.remove(request)
                self.counts.finished["abort"] += 1
        decoding, new = list(self._running), []
        free = self._limits.kv_tokens - sum(request.prompt_tokens + request.max_tokens for request in decoding)
        now_s = self.clock.now_s()
        while self._waiting and len(self._running) < self._limits.max_num_seqs:
            request = self._waiting[0]
            free -= request.prompt_tokens + request.max_tokens
            if free < 0 and self._running:
                break
            self._waiting.popleft()
            request.started_s = now_s
            self._running.append(request)
            new.append(request)
        return decoding, new

    def _finish_step(self, decoding: list[Request], new: list[Request], k: int) -> None:
        now_s = self.clock.now_s()
        counts = self.counts
        before = counts.generation_tokens + counts.prompt_tokens
        for request in new:
            counts.prompt_tokens += request.prompt_tokens
            request.first_token_s = now_s
            counts.first_token.observe(now_s - request.arrived_s)
            self._emit(request, 1, now_s)
        for request in decoding:
            counts.inter_token.observe(now_s - request.last_token_s)
            accepted = 0
            if k:
                # A block drafter drafts its whole block whatever is verified of it: the positions stay as they are.
                accepted = min(k, request.rounds.accepted(request.steps))
                counts.round(k, accepted)
                request.steps += 1
            self._emit(request, 1 + accepted, now_s)
        counts.step_tokens.observe(counts.generation_tokens + counts.prompt_tokens - before)

    def _emit(self, request: Request, tokens: int, now_s: float) -> None:
        """Hand over the next tokens; the answer may end among them (vLLM counts the rest as accepted all the same)."""
        pieces: list[str] = []
        taken, reason = 0, None
        while taken < tokens and reason is None:
            piece = next(request.tokens)
            if piece is None and request.ignore_eos:
                continue
            taken += 1
            if piece is None:
                reason = "stop"
            else:
                pieces.append(piece)
                reason = "length" if request.produced + taken >= request.max_tokens else None
        request.produced += taken
        request.last_token_s = now_s
        self.counts.generation_tokens += taken
        request.outputs.put_nowait(Output("".join(pieces), taken, reason))
        if reason is not None:
            self._end(request, reason)

    def _end(self, request: Request, reason: str) -> None:
        self._running.remove(request)
        counts = self.counts
        counts.finished[reason] += 1
        counts.request_prompt.observe(request.prompt_tokens)
        counts.request_generation.observe(request.produced)
        counts.end_to_end.observe(request.last_token_s - request.arrived_s)
        counts.queued.observe(request.started_s - request.arrived_s)
        counts.prefilled.observe(request.first_token_s - request.started_s)
        decoded_s = request.last_token_s - request.first_token_s
        counts.decoded.observe(decoded_s)
        counts.per_output_token.observe(decoded_s / max(1, request.produced - 1))
