"""From a curve to its cause: measured faults are recognised, healthy windows get none."""

from pathlib import Path

import pytest
from hypothesis import given

from roles.acceptance.diagnosis import diagnose
from roles.acceptance.window import Window, faults
from roles.conditions import Difference
from tests.unit.acceptance.cases import load, measured, of_rates, paths, window
from tests.unit.acceptance.test_window import whole_windows


@pytest.mark.parametrize("path", paths("curves"), ids=lambda path: path.stem)
def test_curve_is_diagnosed_as_the_case_says(path: Path) -> None:
    case = load(path)
    candidate = window(case["window"])
    baseline = window(case["baseline"]) if case["baseline"] else None
    assert faults(candidate) == ()
    differing = [Difference("engine", *case["engine"])] if "engine" in case else []
    found = diagnose(candidate, baseline, host="ct129", method=case.get("method", "dflash"), differing=differing)
    assert [cause.id for cause in found.causes] == case["causes"]


@pytest.mark.parametrize("name", ["right-k15-c1", "right-k15-c8", "trained-on-little-k7", "right-k5-c8-against-k15"])
def test_healthy_windows_leave_nothing_to_ask(name: str) -> None:
    assert diagnose(measured(name), host="ct129") == diagnose(Window(), host="ct129")


def test_every_cause_has_evidence_and_a_command_for_this_host() -> None:
    for path in paths("curves"):
        case = load(path)
        baseline = window(case["baseline"]) if case["baseline"] else None
        for cause in diagnose(window(case["window"]), baseline, host="ct129").causes:
            assert any(char.isdigit() for char in cause.why)
            assert cause.next.startswith("invoke ")
            assert cause.next.endswith("--host ct129")


def test_a_config_that_only_flags_name_is_looked_at_with_them() -> None:
    found = diagnose(measured("all-wrong-c1"), host="ct129", flags=("--drafter-config", "my config.json"))
    assert found.causes[0].next == "invoke drafter --host ct129 --drafter-config 'my config.json'"


def test_going_back_is_no_advice_where_the_host_went_back_by_itself() -> None:
    case = load(next(path for path in paths("curves") if path.stem == "engine-changed"))
    differing = [Difference("engine", *case["engine"])]
    sides = window(case["window"]), window(case["baseline"])
    stays, reverted = (
        diagnose(*sides, host="ct129", differing=differing, reverts=reverts) for reverts in (False, True)
    )
    assert stays.causes[0].next == "invoke rollback --host ct129"
    assert reverted.causes[0].next.startswith("invoke inventory.show --host ct129")
    assert f"engine.source: back to {case['engine'][0]}" in reverted.causes[0].next


def test_what_acceptance_cannot_tell_is_said() -> None:
    found = diagnose(measured("mask-used-c1"), host="ct129")
    assert any("auxiliary layers" in line for line in found.cannot_tell)
    assert diagnose(measured("all-wrong-c1"), host="ct129").cannot_tell == ()  # it names the layer ids itself


def test_an_unknown_shape_is_called_unknown() -> None:
    found = diagnose(measured("like-nothing-known"), host="ct129")
    assert any("like none of the faults" in line for line in found.cannot_tell)


def test_few_rounds_name_no_cause() -> None:
    found = diagnose(measured("too-few-rounds"), host="ct129")
    assert found.causes == ()
    assert "too few" in found.cannot_tell[0]


def test_shapes_that_few_rounds_cannot_tell_apart_are_both_named() -> None:
    """7 of 30 lies between 0.165 and 0.337."""
    found = diagnose(Window(30, 7, 450, (7, *[0] * 14), 15), host="ct129")
    assert {cause.id for cause in found.causes[:2]} == {"several-fields-wrong", "mask-token-is-another-unused"}
    assert "cannot tell it from the first" in found.causes[1].why


def test_drafter_fields_are_not_blamed_for_another_method() -> None:
    found = diagnose(measured("mask-used-c1"), measured("right-k15-c1"), host="ct129", method="mtp")
    assert found.causes == ()
    assert not any("auxiliary" in line for line in found.cannot_tell)


def test_an_engine_that_changed_together_with_the_drafter_is_not_blamed() -> None:
    case = load(next(path for path in paths("curves") if path.stem == "engine-changed"))
    both = [Difference("engine", *case["engine"]), Difference("drafter", "c1", "d4")]
    found = diagnose(window(case["window"]), window(case["baseline"]), host="ct129", differing=both)
    assert "engine-changed" not in [cause.id for cause in found.causes]


def test_a_baseline_moves_what_is_healthy() -> None:
    """A length of 1.9 is low by itself, and nothing to ask about when the baseline had it too."""
    weak = of_rates(2000, 7, 0.5, 0.25, 0.1, 0.05)
    assert diagnose(weak, weak, host="ct129").causes == ()


@given(whole_windows(), whole_windows())
def test_any_windows_are_diagnosed_without_an_exception(new: Window, old: Window) -> None:
    """Property: no counts raise, and a cause is never named twice."""
    found = diagnose(new, old, host="ct129")
    assert len({cause.id for cause in found.causes}) == len(found.causes)
