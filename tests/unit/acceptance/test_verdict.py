"""What passes, what fails, and what cannot be decided."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.models import Gate
from roles.acceptance.baseline import Baseline
from roles.acceptance.verdict import Verdict, decide
from roles.acceptance.window import PromptWindow, Window
from roles.conditions import Conditions
from tests.unit.acceptance.cases import measured, of_rates, prompt
from tests.unit.acceptance.simulate import ALL_WRONG_C1, RIGHT_K5, RIGHT_K15, prompts_that_differ, windows
from tests.unit.acceptance.test_window import whole_windows

POLICY = Gate()
CONDITIONS = Conditions(
    engine="vllm 0.33.0", model="m", drafter="c1", k=15, prompts="std-50@c1f2", temperature=0.0, thinking=False,
    concurrency=1, gpu="H200", driver="580", max_tokens=128,
)  # fmt: skip
RNG = np.random.default_rng(5)
EASE = prompts_that_differ(RNG, 50)
BASELINE = Baseline("r1", CONDITIONS, tuple(windows(RNG, RIGHT_K15, EASE, 48)))


def measure(rates: tuple[float, ...], *, prompts: int = 50, rounds: int = 48, seed: int = 6) -> list[PromptWindow]:
    return windows(np.random.default_rng(seed), rates, EASE[:prompts], rounds)


AT_5 = replace(CONDITIONS, k=5)


def judge(
    candidate: list[PromptWindow], baseline: Baseline | None = BASELINE, conditions: Conditions = CONDITIONS
) -> Verdict:
    return decide(POLICY, candidate, baseline, conditions)


def lower(rates: tuple[float, ...], drop: float) -> tuple[float, ...]:
    """The curve whose length is lower by this fraction."""
    length = 1 + sum(rates)
    return tuple(rate * (1 - drop * length / (length - 1)) for rate in rates)


def test_the_same_drafter_passes_against_its_baseline() -> None:
    verdict = judge(measure(RIGHT_K15))
    assert verdict.outcome == "pass"
    assert verdict.change is not None
    assert verdict.change.low < 0 < verdict.change.high
    assert verdict.baseline_length is not None
    assert verdict.notes == ()


def test_a_good_first_release_passes_by_the_floor_and_says_that() -> None:
    verdict = judge(measure(RIGHT_K15), None)
    assert verdict.outcome == "pass"
    assert verdict.notes == ("no baseline: the floor alone decides",)


@pytest.mark.parametrize("baseline", [None, BASELINE], ids=["floor", "baseline"])
def test_all_fields_wrong_is_a_collapse_after_few_rounds(baseline: Baseline | None) -> None:
    verdict = judge(measure(ALL_WRONG_C1, prompts=5, rounds=8, seed=7), baseline)
    assert verdict.outcome == "fail"
    assert verdict.collapsed
    assert verdict.window.rounds == 40
    assert "collapsed" in verdict.reasons[0]


def test_a_drop_that_is_large_and_real_fails() -> None:
    verdict = judge(measure(lower(RIGHT_K15, 0.2)))
    assert verdict.outcome == "fail"
    assert not verdict.collapsed
    assert verdict.change is not None
    assert verdict.change.relative == pytest.approx(-0.2, abs=0.05)


def test_a_drop_that_is_real_and_small_passes() -> None:
    verdict = judge(measure(lower(RIGHT_K15, 0.06), rounds=200))
    assert verdict.outcome == "pass"
    assert verdict.change is not None
    assert verdict.change.p_value < 0.05


def test_a_drop_that_is_large_and_may_be_chance_is_inconclusive_and_says_what_would_tell() -> None:
    """Half of the prompts got much worse, half did not: the mean is down and says little."""
    odd = [prompt(f"p{i}", of_rates(20, 15, *(RIGHT_K15 if i % 2 else lower(RIGHT_K15, 0.35)))) for i in range(6)]
    even = Baseline("r1", CONDITIONS, tuple(prompt(f"p{i}", of_rates(20, 15, *RIGHT_K15)) for i in range(6)))
    verdict = judge(odd, even)
    assert verdict.outcome == "inconclusive"
    assert "may be chance" in verdict.reasons[0]
    assert "would tell" in verdict.reasons[0]


def test_too_few_rounds_to_have_seen_a_drop_are_inconclusive() -> None:
    verdict = judge(measure(RIGHT_K15, prompts=6, rounds=30, seed=0))
    assert verdict.outcome == "inconclusive"
    assert "could not have been seen" in verdict.reasons[0]


def test_verdicts_of_the_default_policy_are_calibrated() -> None:
    """50 prompts of 128 tokens: the same drafter practically always passes, 15 % less is practically always a fail."""
    rng = np.random.default_rng(31)
    outcomes: dict[float, list[str]] = {0.0: [], 0.15: []}
    for _ in range(60):
        ease = prompts_that_differ(rng, 50)
        before = Baseline("r1", CONDITIONS, tuple(windows(rng, RIGHT_K15, ease, 48)))
        for drop, found in outcomes.items():
            found.append(judge(windows(rng, lower(RIGHT_K15, drop), ease, 48), before).outcome)
    assert outcomes[0.0].count("pass") >= 59
    assert outcomes[0.15].count("fail") >= 54


def test_an_improvement_passes_however_wide() -> None:
    verdict = judge(measure((0.9, 0.8, 0.7, 0.6, 0.5, *RIGHT_K15[5:]), prompts=6))
    assert verdict.outcome == "pass"


def test_far_more_than_before_passes_and_is_noted_as_suspect() -> None:
    verdict = judge(measure((0.97,) * 15))
    assert verdict.outcome == "pass"
    assert any("suspect" in note for note in verdict.notes)
    assert not any("suspect" in note for note in judge(measure(RIGHT_K15)).notes)


def test_below_the_floor_with_confidence_fails() -> None:
    policy = Gate(min_acceptance_length=3)
    assert decide(policy, measure(RIGHT_K15), None, CONDITIONS).outcome == "fail"


def test_near_the_floor_is_inconclusive_and_says_how_many_rounds_would_tell() -> None:
    verdict = decide(Gate(min_acceptance_length=2.49), measure(RIGHT_K15), None, CONDITIONS)
    assert verdict.outcome == "inconclusive"
    assert "rounds would tell" in verdict.reasons[0]


def test_at_the_floor_itself_no_number_of_rounds_is_promised() -> None:
    verdict = decide(Gate(min_acceptance_length=2.58), measure(RIGHT_K15), None, CONDITIONS)
    assert verdict.reasons == ("2400 rounds cannot tell 2.58 from the floor of 2.58",)


def test_acceptance_near_one_is_an_alarm_too() -> None:
    loop = [prompt(f"p{i}", of_rates(20, 5, *(1.0,) * 5)) for i in range(10)]
    verdict = judge(loop, None, AT_5)
    assert verdict.outcome == "fail"
    assert "repetition loop" in verdict.reasons[0]


def test_acceptance_near_one_in_few_rounds_is_inconclusive() -> None:
    assert judge([prompt("p0", of_rates(20, 5, *(1.0,) * 5))], None, AT_5).outcome == "inconclusive"


def test_nothing_measured_is_inconclusive() -> None:
    verdict = judge([])
    assert (verdict.outcome, verdict.reasons) == ("inconclusive", ("no data: nothing was measured",))


def test_no_counters_are_inconclusive_with_their_reason() -> None:
    nothing = Window(doubts=("no data: the engine exposes no vllm: counters",))
    verdict = judge([prompt("p0", nothing)])
    assert (verdict.outcome, verdict.reasons) == ("inconclusive", nothing.doubts)


def test_an_engine_that_drafts_nothing_is_inconclusive() -> None:
    nothing = Window(generated=128, doubts=("the engine counts no drafts: it runs without speculation",))
    verdict = judge([prompt("p0", nothing)])
    assert verdict.outcome == "inconclusive"
    assert "without speculation" in verdict.reasons[0]


def test_counts_that_contradict_themselves_are_inconclusive() -> None:
    broken = [replace(p, window=replace(p.window, accepted=p.window.accepted + 1)) for p in measure(RIGHT_K15)]
    verdict = judge(broken)
    assert verdict.outcome == "inconclusive"
    assert "contradict" in verdict.reasons[0]


def test_one_broken_window_is_thrown_out_and_said() -> None:
    candidate = measure(RIGHT_K15)
    broken = replace(candidate[0], window=replace(candidate[0].window, accepted=0))
    verdict = judge([broken, *candidate[1:]])
    assert verdict.outcome == "pass"
    assert verdict.window.rounds == 49 * 48
    assert verdict.notes[0].startswith("1 of 50 windows thrown out: the positions add up")


def test_windows_with_other_requests_count_for_the_floor_but_are_not_paired() -> None:
    mixed = [replace(p, window=replace(p.window, generated=500), usage_tokens=128) for p in measure(RIGHT_K15)]
    verdict = judge(mixed)
    assert verdict.outcome == "pass"
    assert verdict.change is None
    assert verdict.window.rounds == 50 * 48
    assert any("other requests" in note for note in verdict.notes)


def test_an_answer_of_one_token_makes_no_window_and_no_trouble() -> None:
    short = prompt("p50", Window(generated=1, doubts=("no drafts were made between the readings",)))
    verdict = judge([*measure(RIGHT_K15), short])
    assert verdict.outcome == "pass"
    assert any("1 of 51" in note for note in verdict.notes)


@pytest.mark.parametrize(
    ("conditions", "name"),
    [
        (replace(CONDITIONS, prompts="own@d3"), "prompts"),
        (replace(CONDITIONS, temperature=0.7), "temperature"),
        (replace(CONDITIONS, thinking=True), "thinking"),
        (replace(CONDITIONS, model="n"), "model"),
        (replace(CONDITIONS, concurrency=8), "concurrency"),
        (replace(CONDITIONS, max_tokens=32), "max_tokens"),
    ],
)
def test_conditions_that_make_other_texts_leave_only_the_floor(conditions: Conditions, name: str) -> None:
    verdict = judge(measure(lower(RIGHT_K15, 0.3)), conditions=conditions)
    assert verdict.outcome == "pass"
    assert verdict.change is None
    assert verdict.baseline_length is None
    assert any(name in note and "floor alone decides" in note for note in verdict.notes)


@pytest.mark.parametrize(
    ("conditions", "name"),
    [
        (replace(CONDITIONS, engine="vllm 0.34.0"), "engine"),
        (replace(CONDITIONS, drafter="d4"), "drafter"),
        (replace(CONDITIONS, gpu="A6000"), "gpu"),
        (replace(CONDITIONS, driver=None), "driver"),
        (replace(CONDITIONS, thinking=None), "thinking"),
    ],
)
def test_conditions_that_a_release_may_change_are_listed_and_compared(conditions: Conditions, name: str) -> None:
    verdict = judge(measure(lower(RIGHT_K15, 0.3)), conditions=conditions)
    assert verdict.outcome == "fail"
    assert any(note.startswith(f"not as for the baseline: {name}: ") for note in verdict.notes)


def test_other_conditions_do_not_hide_a_collapse() -> None:
    assert judge(measure(ALL_WRONG_C1), conditions=replace(CONDITIONS, temperature=0.7)).collapsed


def test_unequal_k_is_compared_over_shared_positions_and_marked() -> None:
    shorter = judge(measure(RIGHT_K5), conditions=AT_5)
    assert shorter.outcome == "pass"
    assert shorter.change is not None
    assert any("approximate" in note and "first 5 positions" in note for note in shorter.notes)


def test_twelve_percent_at_fifteen_is_no_regression_from_forty_three_at_five() -> None:
    """The field report's two runs of one drafter: 12 % of 15 and 43 % of 5."""
    at_5 = Baseline("r1", replace(CONDITIONS, k=5), tuple(measure((0.800, 0.556, 0.377, 0.245, 0.166))))
    tail = (0.04, 0.03, 0.02, 0.012, 0.01, 0.005, 0.003)
    verdict = judge(measure((0.72, 0.48, 0.30, 0.18, *tail, 0.0, 0.0, 0.0, 0.0), seed=8), at_5)
    assert verdict.window.acceptance_rate == pytest.approx(0.12, abs=0.01)
    assert verdict.outcome == "pass"


def test_unequal_k_does_not_hide_a_real_loss() -> None:
    verdict = judge(measure(lower(RIGHT_K5, 0.25)), conditions=AT_5)
    assert verdict.outcome == "fail"


def test_an_upgrade_from_3_19_to_2_66_is_a_fail() -> None:
    curve = (0.74, 0.53, 0.36, 0.24, 0.14, 0.09, 0.05, 0.03, 0.01, *[0.0] * 6)
    before = Baseline("r1", replace(CONDITIONS, engine="vllm 0.27.1"), tuple(measure(curve, seed=9)))
    verdict = judge(measure(lower(curve, 1 - 2.66 / 3.19), seed=10), before, replace(CONDITIONS, engine="vllm 0.28.0"))
    assert verdict.outcome == "fail"
    assert "engine: vllm 0.27.1 -> vllm 0.28.0" in verdict.notes[0]


def test_drafting_another_k_than_wanted_is_said() -> None:
    assert any("not the 5 that are wanted" in note for note in judge(measure(RIGHT_K15), None, AT_5).notes)


def test_verdict_as_json_has_the_numbers_behind_it() -> None:
    found = judge(measure(lower(RIGHT_K15, 0.2))).as_json()
    assert found["outcome"] == "fail"
    assert found["rounds"] == 2400
    assert found["speculative_tokens"] == 15
    assert isinstance(found["change"], dict)
    assert found["change"]["prompts"] == 50
    assert isinstance(found["baseline"], dict)
    assert found["baseline"]["release"] == "r1"


def test_real_windows_of_the_right_drafter_pass_and_of_the_all_wrong_one_fail() -> None:
    assert judge([prompt("all", measured("right-k15-c1"))], None).outcome == "pass"
    assert judge([prompt("all", measured("all-wrong-c1"))], None).outcome == "fail"
    assert judge([prompt("all", measured("nothing-accepted"))], None, AT_5).outcome == "fail"


@given(st.lists(whole_windows(), max_size=8), st.lists(whole_windows(), max_size=8))
def test_any_counts_get_a_verdict_with_a_reason(new: list[Window], old: list[Window]) -> None:
    """Property: no mixture of k, empty windows or extreme counts raises or passes without rounds."""
    baseline = Baseline("r", CONDITIONS, tuple(prompt(f"p{i}", window) for i, window in enumerate(old)))
    verdict = judge([prompt(f"p{i}", window) for i, window in enumerate(new)], baseline)
    assert verdict.reasons
    assert verdict.outcome != "pass" or verdict.window.rounds


@given(st.lists(st.builds(Window, *[st.integers(-5, 50)] * 3, st.lists(st.integers(-5, 50)).map(tuple)), max_size=8))
def test_counts_that_cannot_be_get_no_pass_from_windows_that_are_broken(broken: list[Window]) -> None:
    """Property: windows of any numbers never raise."""
    assert judge([prompt(f"p{i}", window) for i, window in enumerate(broken)], None).reasons
