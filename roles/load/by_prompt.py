"""Each prompt's own speed in every run, those that changed most first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from roles.load.history import Run
from roles.load.values import number, row, text

_MOST = 200


@dataclass(frozen=True)
class PromptSpeed:
    """A prompt and what its stream got, tok/s from the request to the last token; None where a run lacks it."""

    prompt: str
    kind: str
    tok_s: tuple[float | None, ...]

    @property
    def change(self) -> float | None:
        """Of the last run that has it against the first, relative; None for less than two."""
        known = [speed for speed in self.tok_s if speed is not None]
        return known[-1] / known[0] - 1 if len(known) > 1 and known[0] else None


def by_prompt(runs: Sequence[Run]) -> tuple[PromptSpeed, ...]:
    """At most 200 prompts; in their order where nothing can be compared."""
    speeds = [_speeds(run) for run in runs]
    kinds = {prompt: kind for one in speeds for prompt, (kind, _) in one.items()}
    found = [
        PromptSpeed(prompt, kind, tuple(one[prompt][1] if prompt in one else None for one in speeds))
        for prompt, kind in kinds.items()
    ]
    return tuple(sorted(found, key=lambda one: -abs(one.change or 0.0))[:_MOST])


def _speeds(run: Run) -> Mapping[str, tuple[str, float]]:
    """Prompt -> kind and tok/s."""
    found = {}
    for request in row(run.summary, "requests"):
        prompt, tokens, latency_s = text(request, "prompt"), number(request, "tokens"), number(request, "latency_s")
        if prompt is not None and tokens is not None and latency_s:
            found[prompt] = (text(request, "kind") or "", tokens / latency_s)
    return found
