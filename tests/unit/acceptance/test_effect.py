"""A drop fails when it is large, real and above what two equal runs differ by."""

import numpy as np
import pytest

from roles.acceptance.effect import judge, noise_floor
from roles.acceptance.statistics import Comparison, paired
from roles.acceptance.window import PromptWindow
from tests.unit.acceptance.simulate import RIGHT_K15, prompts_that_differ, windows

LARGE = Comparison(-0.15, -0.18, -0.12, 0.0001, 50, 0.018, 0.95)


def test_a_large_and_real_drop_fails() -> None:
    outcome, reason = judge(LARGE, 0.1, against="the baseline", rounds=2400)
    assert outcome == "fail"
    assert (
        reason == "acceptance length -15.0 % against the baseline (-18.0 to -12.0 %, 50 prompts), more than 10 % less"
    )


def test_a_drop_within_the_noise_floor_is_no_failure_however_certain() -> None:
    outcome, reason = judge(LARGE, 0.1, against="the baseline", rounds=2400, floor=0.16)
    assert outcome == "inconclusive"
    assert "two runs of the baseline differ by up to 16.0 %" in reason
    assert judge(LARGE, 0.1, against="the baseline", rounds=2400, floor=0.14)[0] == "fail"


def test_a_real_and_small_drop_passes() -> None:
    small = Comparison(-0.04, -0.05, -0.03, 0.0001, 50, 0.005, 0.95)
    assert judge(small, 0.1, against="before", rounds=2400)[0] == "pass"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Comparison(-0.15, -0.31, 0.02, 0.08, 12, 0.095, 0.95), "may be chance"),
        (Comparison(-0.02, -0.17, 0.14, 0.7, 12, 0.08, 0.95), "a drop of 10 % could not have been seen"),
    ],
)
def test_what_cannot_be_decided_says_how_many_prompts_and_rounds_would_tell(change: Comparison, said: str) -> None:
    outcome, reason = judge(change, 0.1, against="the baseline", rounds=600)
    assert outcome == "inconclusive"
    assert said in reason
    prompts, rounds = (int(word.strip("(")) for word in reason.split("; ")[1].split() if word.strip("(").isdigit())
    assert prompts > 12
    assert rounds == pytest.approx(prompts * 50, rel=0.01)
    unpaired = judge(change, 0.1, against="before", rounds=600, paired=False)[1]
    assert "rounds on each side would tell" in unpaired
    assert "prompts" not in unpaired


def test_the_noise_floor_holds_what_two_runs_differ_by() -> None:
    """A server whose texts are not the same twice: eight prompts run again bound 50 prompts' second run."""
    rng = np.random.default_rng(41)
    ease = prompts_that_differ(rng, 50)

    def run() -> list[PromptWindow]:
        return windows(rng, RIGHT_K15, ease, 48)

    held = 0
    for _ in range(300):
        first, second = run(), run()
        again = paired(run()[::6][:8], first[::6][:8], 0.95)
        whole = paired(second, first, 0.95)
        assert again is not None
        assert whole is not None
        held += abs(np.log1p(whole.relative)) <= np.log1p(noise_floor(again, 50))
    assert held / 300 >= 0.92
