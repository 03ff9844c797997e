"""What making load came to: each request with its prompt and time, and the span they were counted in."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from roles.load.completion import Completion, ErrorKind
from roles.load.prompts import Prompt


@dataclass(frozen=True)
class Sample:
    """One counted request. started_s is since the counted span began."""

    prompt: Prompt
    started_s: float
    completion: Completion


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
    concurrency: int
    temperature: float
    seed: int | None
    extra_body: Mapping[str, object]
    counters_before: str | None = field(repr=False)
    """What `scrape` gave right before the counted span."""
    counters_after: str | None = field(repr=False)

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
            "concurrency": self.concurrency,
            "temperature": self.temperature,
            "thinking": template.get("enable_thinking") if isinstance(template, Mapping) else None,
            "seed": self.seed,
            "extra_body": dict(self.extra_body),
        }
