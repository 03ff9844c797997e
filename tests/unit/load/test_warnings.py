"""Doubts: each in a run that has it, none in a run that is sound."""

from collections.abc import Sequence

import pytest

from roles.load.completion import Completion
from roles.load.doubt import Doubt
from roles.load.engine_state import EngineState, Level
from roles.load.result import LoadResult
from roles.load.warnings import doubts
from tests.unit.load.samples import answer, load_result

STORIES = (
    "The bridge was older than the road, and the road was older than the town that had grown around it.",
    "She counted the boats twice and got different numbers, so she sat down and waited for the tide.",
    "def area(width, height):\n    return width * height\n",
    "Zuerst misst man die Luft, dann das Wasser, und zuletzt schaut man aus dem Fenster.",
    "Sum the terms pairwise: the first and the last make 101, and there are fifty such pairs.",
)


def sound(count: int = 20) -> list[Completion]:
    return [answer(f"{number}. {' '.join(STORIES[(number + n) % 5] for n in range(3))}") for number in range(count)]


def found(
    result: LoadResult, *, generation_tokens: int | None = None, prefix_hit_rate: float | None = None
) -> dict[str, Doubt]:
    state = EngineState(prefix_hit_rate=prefix_hit_rate)
    every = doubts(result, generation_tokens=generation_tokens, state=state)
    return {doubt.kind: doubt for doubt in every}


def test_a_sound_run_raises_no_doubts() -> None:
    state = EngineState(prefix_hit_rate=0.05, preemptions=0, waiting=Level(0, 0), busy_before=0)
    assert doubts(load_result(sound()), generation_tokens=2000, state=state) == ()


def test_few_failures_are_noted_and_many_spoil_the_run() -> None:
    few = found(load_result([*sound(30), answer(error="cut", detail="the stream ended without [DONE]")]))["failed"]
    assert not few.spoils
    assert few.message == "1 of 31 requests failed: cut 1 (the stream ended without [DONE])"
    assert few.prompts == ("p30",)
    assert found(load_result([*sound(), *[answer(error="timeout")] * 2]))["failed"].spoils


def test_another_model_that_answers_spoils_the_run() -> None:
    doubt = found(load_result([*sound(), answer("x", model="old-model")]))["wrong-model"]
    assert doubt.message == "m was asked, old-model answered"
    assert doubt.spoils


def test_a_server_that_names_no_model_is_believed() -> None:
    assert "wrong-model" not in found(load_result([*sound(), answer("x", model=None)]))


def test_answers_without_text_are_doubted_unless_the_model_was_thinking() -> None:
    assert found(load_result([*sound(), *[answer(" \n")] * 3]))["empty"].spoils
    assert "empty" not in found(load_result([*sound(), *[answer("", reasoning="Let me see.")] * 2]))


def test_looping_text_spoils_a_run_once_it_is_common() -> None:
    looping = answer("So " + "it is " * 50)
    assert not found(load_result([*sound(), looping]))["text"].spoils
    doubt = found(load_result([*sound(5), looping]))["text"]
    assert doubt.spoils
    assert doubt.message.startswith("1 of 6 answers are no text, p5: ends in ")


def test_thinking_that_loops_is_seen_too() -> None:
    assert "text" in found(load_result([*sound(), answer("", reasoning="Wait. " * 50)]))


def test_the_same_answer_to_different_prompts_spoils_the_run() -> None:
    same = [answer("Of course! How can I help you today?")] * 3
    assert found(load_result([*sound(), *same]))["same-answer"].prompts == ("p20", "p21", "p22")
    assert "same-answer" not in found(load_result([*sound(), *same[:2]]))


@pytest.mark.parametrize(("stopped", "doubted"), [(5, False), (6, True)])
def test_answers_that_stop_early_are_noted_when_they_are_many(stopped: int, doubted: bool) -> None:
    early = [answer(f"{number} is all.", tokens=30, finish_reason="stop") for number in range(stopped)]
    late = [answer(f"{number} was more.", tokens=80, finish_reason="stop") for number in range(5)]
    answers = [*early, *late, *sound(20 - stopped - 5)]
    doubt = found(load_result(answers)).get("stopped-early")
    assert (doubt is not None) is doubted
    if doubt is not None:
        assert not doubt.spoils
        assert "6 of 20 answers stopped before half of 100 tokens (on average after 30)" in doubt.message


def test_missing_counts_spoil_the_run() -> None:
    doubt = found(load_result([*sound(), answer("x", tokens=None)]))["no-counts"]
    assert doubt.spoils
    assert "tok/s is not known" in doubt.message


def test_too_few_tokens_spoil_the_run() -> None:
    assert found(load_result(sound(9)))["too-few"].message.startswith("900 tokens from 9 answers are too few")
    assert "too-few" not in found(load_result(sound(10)))


@pytest.mark.parametrize(
    ("counted", "said"),
    [
        (1999, None),
        (2040, None),
        (2041, "the server generated 2041 tokens meanwhile, 2000 for this run"),
        (1959, "a restart, or other counters"),
        (0, "a restart, or other counters"),
    ],
)
def test_tokens_that_are_not_this_runs_spoil_it(counted: int, said: str | None) -> None:
    doubt = found(load_result(sound()), generation_tokens=counted).get("other-traffic")
    if said is None:
        assert doubt is None
    else:
        assert doubt is not None
        assert said in doubt.message


def test_what_a_failed_request_may_have_generated_is_no_other_traffic() -> None:
    failed: Sequence[Completion] = [*sound(), answer(tokens=None, error="timeout")]
    assert "other-traffic" not in found(load_result(failed), generation_tokens=2100)
    assert "other-traffic" in found(load_result(failed), generation_tokens=2200)


def test_a_warm_prefix_cache_is_noted() -> None:
    doubt = found(load_result(sound()), prefix_hit_rate=0.6)["prefix-cache"]
    assert doubt.message.startswith("60 % of the prompts' tokens")
    assert not doubt.spoils


def test_prompts_that_were_not_sent_are_noted() -> None:
    assert found(load_result(sound(), unsent=5))["unsent"].message == "5 of 25 prompts were not sent"


def test_the_worst_comes_first() -> None:
    spoils = [doubt.spoils for doubt in doubts(load_result([*sound(5), answer("x", model="other")], unsent=1))]
    assert spoils == sorted(spoils, reverse=True)
    assert set(spoils) == {True, False}
