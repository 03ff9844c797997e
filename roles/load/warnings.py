"""Refuses to be fooled: what in a run makes its numbers mean something else than they seem to."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from roles.load.completion import Completion
from roles.load.event import excerpt
from roles.load.result import LoadResult, Sample
from roles.load.text import fault

_FAILED_SHARE = 0.05
_STOPPED_SHARE = 0.25
_STOPPED_BEFORE = 0.5  # of max_tokens
_FAULTY_SHARE = 0.1
_LEAST_TOKENS = 1000
_OTHER_TRAFFIC_SHARE = 0.02
_OTHER_TRAFFIC_TOKENS = 32
_PREFIX_HIT_SHARE = 0.2

DoubtKind = Literal[
    "wrong-model",
    "failed",
    "empty",
    "text",
    "same-answer",
    "other-traffic",
    "no-counts",
    "too-few",
    "stopped-early",
    "unsent",
    "prefix-cache",
]


@dataclass(frozen=True)
class Doubt:
    """One reason not to take a run's numbers at face value.

    spoils: they must not be compared with others or kept as a baseline; otherwise they are to be read with care.
    prompts: ids of those concerned, () for the whole run.
    """

    kind: DoubtKind
    message: str
    spoils: bool
    prompts: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """The same facts for programs."""
        return {"kind": self.kind, "message": self.message, "spoils": self.spoils, "prompts": list(self.prompts)}


def doubts(
    result: LoadResult, *, generation_tokens: int | None = None, prefix_hit_rate: float | None = None
) -> tuple[Doubt, ...]:
    """Everything that is doubtful in a run, the worst first.

    generation_tokens: what the server's counter of generated tokens grew by over the counted span.
    prefix_hit_rate: hits / queries of the prefix cache over the span (0-1).
    """
    answers = [sample for sample in result.samples if sample.completion.ok]
    found = [
        _wrong_model(result, answers),
        _failed(result),
        _empty(answers),
        _faulty_text(answers),
        _same_answer(answers),
        _other_traffic(result, generation_tokens),
        _no_counts(answers),
        _too_few(answers),
        _stopped_early(result, answers),
        _unsent(result),
        _prefix_cache(prefix_hit_rate),
    ]
    return tuple(sorted((doubt for doubt in found if doubt is not None), key=lambda doubt: not doubt.spoils))


def _wrong_model(result: LoadResult, answers: Sequence[Sample]) -> Doubt | None:
    others = [sample for sample in answers if sample.completion.model not in {None, result.model}]
    if not others:
        return None
    names = ", ".join(sorted({excerpt(str(sample.completion.model)) for sample in others}))
    return Doubt("wrong-model", f"{result.model} was asked, {names} answered", True, _ids(others))


def _failed(result: LoadResult) -> Doubt | None:
    failed = [sample for sample in result.samples if not sample.completion.ok]
    if not failed:
        return None
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(result.failed.items()))
    detail = next((sample.completion.detail for sample in failed if sample.completion.detail), None)
    message = f"{len(failed)} of {len(result.samples)} requests failed: {kinds}" + (f" ({detail})" if detail else "")
    return Doubt("failed", message, len(failed) > _FAILED_SHARE * len(result.samples), _ids(failed))


def _unsent(result: LoadResult) -> Doubt | None:
    if not result.unsent:
        return None
    total = result.unsent + len(result.samples)
    return Doubt("unsent", f"{result.unsent} of {total} prompts were not sent", False)


def _empty(answers: Sequence[Sample]) -> Doubt | None:
    empty = [sample for sample in answers if not sample.completion.written.strip()]
    if not empty:
        return None
    message = f"{len(empty)} of {len(answers)} answers have no text"
    return Doubt("empty", message, len(empty) > _FAULTY_SHARE * len(answers), _ids(empty))


def _faulty_text(answers: Sequence[Sample]) -> Doubt | None:
    faults = [(sample, what) for sample in answers if (what := fault(sample.completion.written)) is not None]
    if not faults:
        return None
    first, what = faults[0]
    message = (
        f"{len(faults)} of {len(answers)} answers are no text, {first.prompt.id}: {what}; "
        "acceptance of such text says nothing about real use"
    )
    return Doubt("text", message, len(faults) > _FAULTY_SHARE * len(answers), _ids([sample for sample, _ in faults]))


def _same_answer(answers: Sequence[Sample]) -> Doubt | None:
    by_text: defaultdict[str, list[Sample]] = defaultdict(list)
    for sample in answers:
        if sample.completion.written.strip():
            by_text[sample.completion.written].append(sample)
    same = max(by_text.values(), key=len, default=[])
    if len({sample.prompt.messages for sample in same}) < 3:
        return None
    return Doubt("same-answer", f"{len(same)} different prompts got the very same answer", True, _ids(same))


def _stopped_early(result: LoadResult, answers: Sequence[Sample]) -> Doubt | None:
    short = [
        sample
        for sample in answers
        if sample.completion.finish_reason == "stop"
        and (sample.completion.completion_tokens or 0) < _STOPPED_BEFORE * result.max_tokens
    ]
    if len(short) <= _STOPPED_SHARE * len(answers):
        return None
    mean = _own_tokens([sample.completion for sample in short]) / len(short)
    message = (
        f"{len(short)} of {len(answers)} answers stopped before half of {result.max_tokens} tokens "
        f"(on average after {mean:.0f}): waiting for the first token weighs more than it seems"
    )
    return Doubt("stopped-early", message, False, _ids(short))


def _no_counts(answers: Sequence[Sample]) -> Doubt | None:
    uncounted = [sample for sample in answers if sample.completion.completion_tokens is None]
    if not uncounted:
        return None
    message = f"{len(uncounted)} of {len(answers)} answers came without token counts: tok/s is not known"
    return Doubt("no-counts", message, True, _ids(uncounted))


def _too_few(answers: Sequence[Sample]) -> Doubt | None:
    tokens = _own_tokens([sample.completion for sample in answers])
    if tokens >= _LEAST_TOKENS:
        return None
    message = f"{tokens} tokens from {len(answers)} answers are too few to compare (at least {_LEAST_TOKENS})"
    return Doubt("too-few", message, True)


def _other_traffic(result: LoadResult, generation_tokens: int | None) -> Doubt | None:
    if generation_tokens is None:
        return None
    own = _own_tokens([sample.completion for sample in result.samples])
    # A failed request's tokens are on the server's counter only: it may have generated all that it was asked for.
    at_most = own + result.max_tokens * sum(result.failed.values())
    slack = max(_OTHER_TRAFFIC_TOKENS, _OTHER_TRAFFIC_SHARE * own)
    if generation_tokens > at_most + slack:
        message = f"the server generated {generation_tokens} tokens meanwhile, {own} for this run: others use it too"
    elif generation_tokens < own - slack:
        message = f"the server counts {generation_tokens} tokens, the answers hold {own}: a restart, or other counters"
    else:
        return None
    return Doubt("other-traffic", message, True)


def _prefix_cache(hit_rate: float | None) -> Doubt | None:
    if hit_rate is None or hit_rate <= _PREFIX_HIT_SHARE:
        return None
    message = (
        f"{100 * hit_rate:.0f} % of the prompts' tokens were in the prefix cache: TTFT is better than for new prompts"
    )
    return Doubt("prefix-cache", message, False)


def _own_tokens(answers: Sequence[Completion]) -> int:
    return sum(answer.completion_tokens or 0 for answer in answers)


def _ids(samples: Sequence[Sample]) -> tuple[str, ...]:
    return tuple(sample.prompt.id for sample in samples)
