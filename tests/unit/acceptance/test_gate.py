"""The gate against an engine in memory: how few rounds it needs, when it stops, what it keeps."""

import json
from collections.abc import Callable, Sequence

import pytest

from inventory.errors import ServerError
from inventory.models import Gate
from playbooks.evidence import from_baseline
from roles.acceptance.against import compare
from roles.acceptance.baseline import Baseline, from_json
from roles.acceptance.gate import GateResult, Progress, run_gate
from roles.acceptance.judgement import judge
from roles.conditions import Conditions
from tests.unit.acceptance.served import Answer, Asked, Engine
from tests.unit.acceptance.simulate import ALL_WRONG_C1, RIGHT_K5, RIGHT_K15

PROMPTS = [Asked(f"p{i}") for i in range(60)]
RELEASE = "2026-11-29T12-25-53Z-7f3a"


class Clock:
    """Goes on by `step_s` whenever it is read, and by what is waited."""

    def __init__(self, step_s: float = 0.0) -> None:
        self.now_s = 0.0
        self.step_s = step_s
        self.waits: list[float] = []

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s

    def wait(self, pause_s: float) -> None:
        self.waits.append(pause_s)
        self.now_s += pause_s


def gate(
    engine: Engine,
    baseline: Baseline | None = None,
    *,
    prompts: Sequence[Asked] = PROMPTS,
    policy: Gate | None = None,
    scrape: Callable[[], str] | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    clock: Clock | None = None,
) -> GateResult:
    clock = clock or Clock()
    return run_gate(
        engine.send,
        scrape or engine.scrape,
        prompts,
        policy or Gate(),
        baseline,
        Conditions(k=len(engine.rates)),
        on_progress,
        release=RELEASE,
        host="ct129",
        clock=clock,
        wait=clock.wait,
    )


BASELINE = gate(Engine(RIGHT_K15)).baseline


def test_a_good_release_is_measured_in_full_and_passes() -> None:
    engine = Engine(RIGHT_K15)
    result = gate(engine)
    assert result.verdict.outcome == "pass"
    whole = [prompt for prompt, tokens in engine.asked if tokens == 128]
    assert whole[:50] == [prompt.id for prompt in PROMPTS[:50]]
    assert len(result.probes) <= 3
    assert [window.prompt for window in result.windows] == [prompt.id for prompt in PROMPTS[:50]]
    assert all(window.window.generated == window.usage_tokens == 128 for window in result.windows)
    assert result.verdict.window.rounds == sum(window.window.rounds for window in result.windows)  # without the probes
    assert result.diagnosis.causes == ()


@pytest.mark.parametrize("baseline", [None, BASELINE], ids=["floor", "baseline"])
def test_a_collapse_is_decided_in_fewer_than_sixty_rounds_and_nothing_more_is_asked(baseline: Baseline | None) -> None:
    engine = Engine(ALL_WRONG_C1)
    result = gate(engine, baseline)
    assert result.verdict.outcome == "fail"
    assert result.verdict.collapsed
    assert engine.rounds < 60
    assert result.windows == ()
    assert result.diagnosis.causes[0].id == "several-fields-wrong"


def test_collapses_are_decided_in_time_whatever_the_prompts() -> None:
    rounds = []
    for name in range(200):
        engine = Engine(ALL_WRONG_C1)
        result = gate(engine, prompts=[Asked(f"{name}-{i}") for i in range(50)])
        assert result.verdict.outcome == "fail"
        rounds.append(engine.rounds)
    assert sum(count < 60 for count in rounds) >= 198


def test_nothing_accepted_at_all_needs_two_looks() -> None:
    engine = Engine([0.0] * 15)
    assert gate(engine).verdict.collapsed
    assert engine.rounds == 18


def test_what_passes_runs_a_sixth_of_its_prompts_once_more() -> None:
    engine = Engine(RIGHT_K15)
    result = gate(engine)
    again = [prompt for prompt, tokens in engine.asked if tokens == 128][50:]
    assert len(again) == len(set(again)) == 8
    assert result.again is not None
    assert (result.again.prompts, result.again.relative) == (8, 0.0)
    assert "two runs of all 50 may differ by 0.0 %" in result.verdict.notes[-1]


def test_no_time_is_taken_beyond_the_gates_own_for_measuring_once_more() -> None:
    whole = gate(Engine(RIGHT_K15), clock=Clock(step_s=1))
    almost = Gate(timeout_s=whole.elapsed_s - 5)
    result = gate(Engine(RIGHT_K15), policy=almost, clock=Clock(step_s=1))
    assert whole.again is not None
    assert (len(result.windows), result.again, result.verdict.outcome) == (50, None, "pass")


def test_what_fails_is_not_measured_once_more() -> None:
    engine = Engine([0.62, 0.148, 0.032, 0.003, *[0.0] * 11])
    assert gate(engine, BASELINE).again is None
    assert len([prompt for prompt, tokens in engine.asked if tokens == 128]) == 50


def test_a_server_that_answers_otherwise_every_time_has_a_noise_floor_that_the_next_verdict_names() -> None:
    first = gate(Engine(RIGHT_K15, unsteady=True))
    assert first.again is not None
    assert first.again.standard_error > 0.02
    kept = from_json(json.dumps(first.as_json()))
    second = gate(Engine(RIGHT_K15, unsteady=True), kept).verdict
    assert second.outcome == "pass"
    assert second.noise_floor is not None
    assert 0.01 < second.noise_floor < 0.2
    assert any(note.startswith(f"noise floor {100 * second.noise_floor:.1f} %") for note in second.notes)


def test_a_server_that_gets_worse_while_it_runs_is_noted() -> None:
    engine = Engine(RIGHT_K15)

    def notice(progress: Progress) -> None:
        if (progress.phase, progress.done) == ("measure", 50):
            engine.rates = RIGHT_K15[:1] + tuple(rate / 3 for rate in RIGHT_K15[1:])

    assert "gets worse while it runs" in gate(engine, on_progress=notice).verdict.notes[-1]


def test_the_same_release_again_is_the_same() -> None:
    result = gate(Engine(RIGHT_K15), BASELINE)
    assert result.verdict.outcome == "pass"
    assert result.verdict.change is not None
    assert result.verdict.change.relative == 0


def test_a_single_wrong_field_is_measured_in_full_and_fails_against_the_baseline() -> None:
    result = gate(Engine([0.62, 0.148, 0.032, 0.003, *[0.0] * 11]), BASELINE)
    assert result.verdict.outcome == "fail"
    assert not result.verdict.collapsed
    assert len(result.windows) == 50
    assert result.diagnosis.causes[0].id == "mask-token-is-used"


def test_fewer_tokens_against_a_baseline_of_more_pass() -> None:
    result = gate(Engine(RIGHT_K5), BASELINE)
    assert result.verdict.outcome == "pass"
    assert any("approximate" in note for note in result.verdict.notes)


def test_a_collapse_that_starts_later_is_seen_too() -> None:
    """The second request and all after it, as reported in public: 61 % at first, then 0.9 %."""
    engine = Engine(RIGHT_K15)

    def notice(progress: Progress) -> None:
        if progress.phase == "measure":
            engine.rates = ALL_WRONG_C1

    result = gate(engine, on_progress=notice)
    assert result.verdict.collapsed
    assert len(result.windows) < 10


def test_counters_that_lag_behind_the_answer_are_waited_for() -> None:
    clock = Clock()
    result = gate(Engine(RIGHT_K15, lag=2), policy=Gate(prompts=5), clock=clock)
    assert all(window.window.generated == 128 for window in result.windows)
    assert clock.waits[:2] == [0.02, 0.05]


def test_counters_that_never_catch_up_do_not_hold_the_gate() -> None:
    clock = Clock()
    result = gate(Engine(RIGHT_K15, lag=10**6), policy=Gate(prompts=5), clock=clock)
    assert clock.now_s < 10
    assert all(window.mixed for window in result.windows)


def test_without_usage_in_the_answers_nothing_is_waited_for() -> None:
    clock = Clock()
    result = gate(Engine(RIGHT_K15, lag=3, usage=False), policy=Gate(prompts=5), clock=clock)
    assert clock.waits == []
    assert not any(window.mixed for window in result.windows)


def test_other_traffic_is_noticed_and_leaves_the_floor() -> None:
    result = gate(Engine(RIGHT_K15, other_tokens=40), BASELINE)
    assert result.verdict.outcome == "pass"
    assert result.verdict.change is None
    assert any("other requests" in note for note in result.verdict.notes)


@pytest.mark.parametrize(
    ("answer", "said"),
    [("", "is this the engine's /metrics"), ("process_start_time_seconds 1.0", "--disable-log-stats")],
)
def test_no_counters_are_inconclusive_and_never_a_pass(answer: str, said: str) -> None:
    result = gate(Engine(RIGHT_K15), policy=Gate(prompts=3), scrape=lambda: answer)
    assert result.verdict.outcome == "inconclusive"
    assert said in result.verdict.reasons[0]


def test_time_that_is_up_ends_the_gate_with_what_it_has() -> None:
    result = gate(Engine(RIGHT_K15), policy=Gate(timeout_s=100), clock=Clock(step_s=2))
    assert 5 < len(result.windows) < 50
    assert any("timeout_s is 100" in note for note in result.verdict.notes)


def test_what_the_server_dies_of_goes_through() -> None:
    class Dying(Engine):
        def send(self, prompt: Asked, max_tokens: int) -> Answer:
            raise ServerError("the server closed the connection")

    with pytest.raises(ServerError):
        gate(Dying(RIGHT_K15))


def test_short_answers_by_policy_are_not_probed_first() -> None:
    engine = Engine(RIGHT_K15)
    result = gate(engine, policy=Gate(max_tokens=16))
    assert result.probes == ()
    assert {tokens for _, tokens in engine.asked} == {16}


@pytest.mark.parametrize(
    ("text", "said"),
    [("  ", "no text"), ("the the the " * 40, "end in a repetition"), ("x" * 400, "end in a repetition")],
)
def test_odd_texts_are_noted_and_decide_nothing(text: str, said: str) -> None:
    result = gate(Engine(RIGHT_K15, text=text), policy=Gate(prompts=30))
    assert result.verdict.outcome == "pass"
    assert any(said in note for note in result.verdict.notes)


def test_an_ordinary_text_is_not_called_a_repetition() -> None:
    text = "1. first 2. second 3. third\n| a | b |\n|---|---|\nNumbers: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14."
    result = gate(Engine(RIGHT_K15, text=text), policy=Gate(prompts=30))
    assert not any("repetition" in note or "no text" in note for note in result.verdict.notes)


def test_of_a_release_that_collapsed_the_probes_are_kept_for_a_comparison() -> None:
    result = gate(Engine(ALL_WRONG_C1), BASELINE)
    kept = from_json(json.dumps(result.as_json()))
    assert kept.windows == ()
    assert kept.probes == result.probes
    found = compare(judge(from_baseline(BASELINE), label="good"), judge(from_baseline(kept), label="bad"))
    assert found.outcome == "fail"
    assert found.summary.rounds == sum(probe.window.rounds for probe in result.probes)
    assert found.causes[0].id == "several-fields-wrong"


def test_progress_tells_phases_rounds_and_length() -> None:
    seen: list[Progress] = []
    gate(Engine(RIGHT_K15), policy=Gate(prompts=5), on_progress=seen.append)
    assert seen[0].phase == "probe"
    assert seen[-1].phase == "measure"  # five prompts are too few to repeat some
    assert (seen[-1].done, seen[-1].total) == (5, 5)
    assert seen[-1].rounds > 100
    assert seen[-1].acceptance_length is not None


def test_what_is_kept_is_a_baseline_for_the_next_release() -> None:
    result = gate(Engine(RIGHT_K15))
    kept = json.loads(json.dumps(result.as_json()))
    assert kept["verdict"]["outcome"] == "pass"
    assert from_json(json.dumps(kept)) == result.baseline
    assert gate(Engine(RIGHT_K15), from_json(json.dumps(kept))).verdict.outcome == "pass"
