"""The verdict as a person sees it."""

from dataclasses import replace

import pytest

from inventory.models import Gate
from roles.acceptance.diagnosis import Diagnosis, diagnose
from roles.acceptance.text import as_text
from roles.acceptance.verdict import Verdict, decide
from roles.acceptance.window import PromptWindow
from tests.unit.acceptance.cases import of_rates, prompt
from tests.unit.acceptance.simulate import ALL_WRONG_C1, RIGHT_K5, RIGHT_K15
from tests.unit.acceptance.test_verdict import BASELINE, CONDITIONS, lower, measure

RELEASE = "2026-11-29T12-25-53Z-7f3a"


def text(verdict: Verdict, diagnosis: Diagnosis, closing: str | None = None) -> list[str]:
    return as_text(
        verdict, diagnosis, host="ct129", release=RELEASE, prompts="std-50@c1f2", closing=closing
    ).splitlines()


def test_a_fail_says_the_number_its_width_its_meaning_and_what_to_do() -> None:
    verdict = decide(Gate(), measure(ALL_WRONG_C1, prompts=6, rounds=8, seed=7), BASELINE, CONDITIONS)
    diagnosis = diagnose(verdict.window, verdict.baseline_window, host="ct129")
    lines = text(verdict, diagnosis, "reverted to 2026-11-28T21-02-10Z-1c9e, which answers and accepts 3.04")
    assert lines[0].startswith(f"acceptance · ct129 · release {RELEASE}")
    assert lines[0].endswith("fail")
    assert lines[1].startswith("  length 1.")
    assert "baseline 2." in lines[1]
    assert "48 rounds, k=15, prompts std-50@c1f2" in lines[1]
    assert "baseline 0." in lines[2]
    assert "collapsed" in lines[3]
    assert lines[4].startswith("  most likely: several drafter fields are wrong at once")
    assert lines[-1].startswith("  next: invoke drafter --host ct129")
    assert lines[-1].endswith("reverted to 2026-11-28T21-02-10Z-1c9e, which answers and accepts 3.04")


def test_a_pass_is_short() -> None:
    verdict = decide(Gate(), measure(RIGHT_K15), BASELINE, CONDITIONS)
    lines = text(verdict, Diagnosis())
    assert lines[0].endswith("pass")
    assert len(lines) == 4


def test_no_data_still_has_a_reason() -> None:
    lines = text(decide(Gate(), [], None, CONDITIONS), Diagnosis())
    assert lines[0].endswith("inconclusive")
    assert lines[1:] == [
        "  no data: nothing was measured",
        "  note: no baseline: the floor alone decides",
        "  next: invoke logs --host ct129",
    ]


@pytest.mark.parametrize(
    ("candidate", "policy", "command"),
    [
        (measure(RIGHT_K15, prompts=6, rounds=30, seed=0), Gate(), "invoke deploy --host ct129"),
        (measure(RIGHT_K15), Gate(min_acceptance_length=2.55), "invoke deploy --host ct129"),
        (measure(RIGHT_K15), Gate(min_acceptance_length=3), "invoke drafter --host ct129"),
        (measure(lower(RIGHT_K15, 0.2)), Gate(), "invoke drafter --host ct129"),
        ([prompt(f"p{i}", of_rates(20, 15, *(1.0,) * 15)) for i in range(9)], Gate(), "invoke health --host ct129"),
    ],
    ids=["few prompts", "near the floor", "below the floor", "a fifth less", "loop"],
)
def test_whatever_is_no_pass_names_the_next_command(candidate: list[PromptWindow], policy: Gate, command: str) -> None:
    verdict = decide(policy, candidate, BASELINE, CONDITIONS)
    assert verdict.outcome != "pass"
    diagnosis = diagnose(verdict.window, verdict.baseline_window, host="ct129")
    assert text(verdict, diagnosis)[-1].startswith(f"  next: {command}")


def test_counts_that_contradict_themselves_are_told_once() -> None:
    broken = [replace(p, window=replace(p.window, accepted=p.window.accepted + 1)) for p in measure(RIGHT_K15)]
    lines = text(decide(Gate(), broken, None, CONDITIONS), Diagnosis())
    assert sum("thrown out" in line for line in lines) == 1
    assert "50 of 50 windows thrown out" in "".join(lines)


def test_lengths_at_another_k_have_no_percentage_between_them() -> None:
    verdict = decide(Gate(), measure(RIGHT_K5), BASELINE, replace(CONDITIONS, k=5))
    lines = text(verdict, Diagnosis())
    assert "%" not in lines[1]
    assert "against the baseline over the first 5 positions" in lines[3]
    assert any("approximate" in line for line in lines)


def test_a_long_curve_is_cut_and_a_short_one_is_not() -> None:
    long = text(decide(Gate(), measure(RIGHT_K15), None, CONDITIONS), Diagnosis())
    short = text(decide(Gate(), measure(RIGHT_K15[:3]), None, CONDITIONS), Diagnosis())
    assert long[2].endswith("...")
    assert len(short[2].split()) == 3
