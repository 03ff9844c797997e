"""An engine in memory: answers prompts with a drafter's acceptance and counts as vLLM does."""

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    id: str


@dataclass(frozen=True)
class Answer:
    text: str
    completion_tokens: int | None
    finish_reason: str | None = "length"


class Engine:
    """rates: per-position acceptance; other_tokens: what other clients generate during each request.

    lag: readings that a finished answer's tokens are still missing from. The same prompt is answered in the same way
    every time, as at temperature 0, unless `unsteady`.
    """

    def __init__(
        self,
        rates: Sequence[float],
        *,
        text: str = "All is well.",
        other_tokens: int = 0,
        lag: int = 0,
        usage: bool = True,
        unsteady: bool = False,
    ) -> None:
        self.rates = rates
        self.text = text
        self.other_tokens = other_tokens
        self.lag = lag
        self.usage = usage
        self.unsteady = unsteady
        self.rounds = self.generated = self.hidden = self.stale_reads = 0
        self.positions = [0] * len(rates)
        self.asked: list[tuple[str, int]] = []

    def send(self, prompt: Asked, max_tokens: int) -> Answer:
        self.asked.append((prompt.id, max_tokens))
        time = f" {len(self.asked)}" if self.unsteady else ""
        chance = random.Random(f"{prompt.id} {self.rates}{time}")  # noqa: S311 - a made-up drafter, not a secret
        made = 1
        while made < max_tokens:
            self.rounds += 1
            drawn = chance.random()
            accepted = sum(drawn < rate for rate in self.rates)  # nested: the rates never rise
            for position in range(accepted):
                self.positions[position] += 1
            made += 1 + accepted
        self.hidden += max_tokens + self.other_tokens
        self.stale_reads = self.lag
        return Answer(self.text, max_tokens if self.usage else None)

    def scrape(self) -> str:
        if self.stale_reads:
            self.stale_reads -= 1
        else:
            self.generated += self.hidden
            self.hidden = 0
        counts = {
            "spec_decode_num_drafts": self.rounds,
            "spec_decode_num_draft_tokens": self.rounds * len(self.rates),
            "spec_decode_num_accepted_tokens": sum(self.positions),
            "generation_tokens": self.generated,
        }
        lines = [f'vllm:{name}_total{{engine="0",model_name="m"}} {count}.0' for name, count in counts.items()]
        per_position = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
        lines += [
            f'{per_position}{{engine="0",model_name="m",position="{i}"}} {count}.0'
            for i, count in enumerate(self.positions)
        ]
        return "\n".join([*lines, "process_start_time_seconds 1.0"])
