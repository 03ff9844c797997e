"""What making load came to: each request with its prompt and time, and the span they were counted in."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from roles.load.arrivals import Arrivals
from roles.load.completion import Completion, ErrorKind
from roles.load.engine_state import Gauges
from roles.load.prompts import Prompt


@dataclass(frozen=True)
class Sample:
    """One counted request. started_s is since the counted span began, late_s since it was due (open loop)."""

    prompt: Prompt
    started_s: float
    completion: Completion
    late_s: float = 0.0

    @property
    def ttft_s(self) -> float | None:
        """To the first text, from when the request was due: what was late here is waited for all the same."""
        return None if self.completion.ttft_s is None else self.completion.ttft_s + self.late_s

    @property
    def e2e_s(self) -> float:
        """To the last token, from when the request was due."""
        return self.completion.latency_s + self.late_s


@dataclass(frozen=True)
class Progress:
    """How far a run, or its warm-up, is; latest is the request that has just ended."""

    done: int
    total: int
    failed: int
    output_tokens: int
    elapsed_s: float
    latest: Sample
    warming_up: bool = False


@dataclass(frozen=True)
class LoadResult:
    """What a run came to. samples are in the prompts' order; those that were never sent are only counted."""

    # Not in the repr: asyncio.run formats the result of its task when it gives Ctrl-C back, and this one is long.
    samples: tuple[Sample, ...] = field(repr=False)
    unsent: int
    wall_s: float
    """From the first counted request to the end of the last."""
    started_at: datetime
    """UTC."""
    model: str
    prompts: str
    """Digest."""
    max_tokens: int
    concurrency: int | None
    """Requests at a time; None in an open loop."""
    temperature: float
    seed: int | None
    extra_body: Mapping[str, object]
    counters_before: str | None = field(repr=False)
    """What `scrape` gave right before the counted span."""
    counters_after: str | None = field(repr=False)
    arrivals: Arrivals | None = None
    """When requests were due (open loop); None in a closed one."""
    gauges: tuple[Gauges, ...] = ()
    """What the engine was busy with meanwhile."""

    @property
    def failed(self) -> Mapping[ErrorKind, int]:
        """Failed requests by kind."""
        return Counter(sample.completion.error for sample in self.samples if sample.completion.error is not None)

    def conditions(self) -> dict[str, object]:
        """What of this run its numbers depend on, for history and comparisons; None is unknown or not set."""
        template = self.extra_body.get("chat_template_kwargs")
        return {
            "prompts": self.prompts,
            "max_tokens": self.max_tokens,
            "load": "closed loop" if self.arrivals is None else "open loop",
            "concurrency": self.concurrency,
            **({} if self.arrivals is None else {"rate": self.arrivals.rate, "burstiness": self.arrivals.burstiness}),
            "temperature": self.temperature,
            "thinking": template.get("enable_thinking") if isinstance(template, Mapping) else None,
            "seed": self.seed,
            "extra_body": dict(self.extra_body),
        }
