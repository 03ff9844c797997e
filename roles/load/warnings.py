"""Refuses to be fooled: what in a run makes its numbers mean something else than they seem to."""

from collections import defaultdict
from collections.abc import Sequence

from roles.load.circumstances import around
from roles.load.completion import Completion
from roles.load.doubt import Doubt
from roles.load.engine_state import EngineState
from roles.load.event import excerpt
from roles.load.result import LoadResult, Sample
from roles.load.text import fault, too_dense

_FAILED_SHARE = 0.05
_STOPPED_SHARE = 0.25
_STOPPED_BEFORE = 0.5  # of max_tokens
_FAULTY_SHARE = 0.1
_LEAST_TOKENS = 1000


def doubts(
    result: LoadResult,
    *,
    generation_tokens: int | None = None,
    state: EngineState | None = None,
    more: Sequence[Doubt] = (),
) -> tuple[Doubt, ...]:
    """Everything that is doubtful in a run, the worst first.

    generation_tokens: what the server's counter of generated tokens grew by over the counted span.
    state:             what the engine did meanwhile
    more:              what others have found
    """
    answers = [sample for sample in result.samples if sample.completion.ok]
    found = [
        _wrong_model(result, answers),
        _failed(result),
        _empty(answers),
        _faulty_text(answers),
        _same_answer(answers),
        _no_counts(answers),
        _too_few(answers),
        _stopped_early(result, answers),
        _unsent(result),
        *around(result, state or EngineState(), generation_tokens),
        *more,
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
    faults = [(sample, what) for sample in answers if (what := _fault(sample.completion)) is not None]
    if not faults:
        return None
    first, what = faults[0]
    message = (
        f"{len(faults)} of {len(answers)} answers are no text, {first.prompt.id}: {what}; "
        "acceptance of such text says nothing about real use"
    )
    return Doubt("text", message, len(faults) > _FAULTY_SHARE * len(answers), _ids([sample for sample, _ in faults]))


def _fault(answer: Completion) -> str | None:
    return fault(answer.written) or too_dense(answer.written, answer.completion_tokens)


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


def _own_tokens(answers: Sequence[Completion]) -> int:
    return sum(answer.completion_tokens or 0 for answer in answers)


def _ids(samples: Sequence[Sample]) -> tuple[str, ...]:
    return tuple(sample.prompt.id for sample in samples)
