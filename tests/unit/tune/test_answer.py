"""Several concurrencies as one answer, and what is said beside the number."""

from io import StringIO

import pytest
from rich.console import Console

from roles.tune.answer import answer
from roles.tune.points import Point
from roles.tune.table import tune_table
from tests.unit.tune.points import FIELD_5, FIELD_15, point, sweep
from tests.unit.tune.test_predict import RATES

LATE_15 = tuple(0.9 * 0.97**i for i in range(15))


def test_the_field_report_hears_that_positions_depend_on_k_and_that_two_points_test_nothing() -> None:
    notes = answer([FIELD_15, FIELD_5]).notes
    assert any("positions depend on k here" in note and "+13 %" in note for note in notes)
    assert any("two points leave no degrees of freedom" in note for note in notes)


def test_rates_that_do_not_depend_on_k_are_not_said_to() -> None:
    notes = answer([point(15, RATES, 42, 1.9), point(5, RATES, 42, 1.9)]).notes
    assert not any("depend on k" in note for note in notes)


def test_three_points_leave_a_degree_of_freedom() -> None:
    notes = answer([point(k, RATES, 42, 1.9) for k in (3, 5, 15)]).notes
    assert not any("degrees of freedom" in note for note in notes)


def test_one_k_that_is_good_everywhere_is_taken_and_each_concurrency_is_shown() -> None:
    found = answer([*sweep(1), *sweep(8)])
    assert found.best in {5, 6}
    assert set(found.plateau) == set(found.by_concurrency[0].plateau) & set(found.by_concurrency[1].plateau)
    parts = found.as_json()["by_concurrency"]
    assert isinstance(parts, list)
    assert [part["concurrency"] for part in parts] == [1, 8]


EARLY = (0.9, 0.2, 0.05, 0.02, 0.01, 0.01, 0.01, 0.01)
LATE = (0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55)


def test_an_optimum_that_changes_with_concurrency_is_said_and_the_least_loss_is_chosen() -> None:
    alone = [point(k, LATE, 40, 0.1) for k in (3, 8)]
    many = [point(k, EARLY, 40, 10, streams=32) for k in (1, 3, 8)]
    found = answer([*alone, *many])
    assert any("the optimum changes with concurrency: k=8 at 1, k=1 at 32" in note for note in found.notes)
    assert any(f"no k is good at every concurrency: k={found.best} loses least" in note for note in found.notes)
    worst = [max(one.loss(k) for one in found.by_concurrency) for k in range(9)]
    assert worst[found.best] == min(worst[1:])
    assert found.plateau == (found.best,)


def test_concurrencies_that_agree_are_not_said_to_differ() -> None:
    found = answer([point(k, RATES, 42, 1.9, streams=streams) for k in (5, 15) for streams in (1, 8)])
    assert not any("concurrency:" in note and "changes" in note for note in found.notes)
    assert not any("no k is good" in note for note in found.notes)


def test_what_one_concurrency_knows_about_positions_is_lent_to_another() -> None:
    """At 8 streams only k=5 was timed; which positions are accepted is known from the run of one stream at 15."""
    found = answer([point(15, RATES, 42, 1.9), point(5, RATES, 42, 1.9), point(5, RATES, 60, 4, streams=8)])
    eight = found.by_concurrency[1]
    assert len(eight.speeds) == 16
    assert [speed.speculative_tokens for speed in eight.speeds if speed.measured] == [5]


def test_points_without_a_concurrency_go_with_the_only_one_that_is_said() -> None:
    unsaid = FIELD_15.model_copy(update={"concurrency": None})
    found = answer([unsaid, FIELD_5.model_copy(update={"concurrency": 1})])
    assert len(found.by_concurrency) == 1
    assert found.best == 5
    assert any("points without a concurrency are taken as measured at 1" in note for note in found.notes)


def test_classes_of_prompts_that_want_another_k_are_named_with_what_they_would_win() -> None:
    code, prose = (
        point(k, rates, 42, 1.9).model_copy(update={"kind": kind})
        for k, rates, kind in ((15, LATE_15, "code"), (15, RATES, "prose"))
    )
    code_5, prose_5 = (
        point(5, rates, 42, 1.9).model_copy(update={"kind": kind})
        for rates, kind in ((LATE_15, "code"), (RATES, "prose"))
    )
    found = answer([point(15, RATES, 42, 1.9), point(5, RATES, 42, 1.9), code, code_5, prose, prose_5])
    (note,) = (note for note in found.notes if "workload classes want different k" in note)
    assert "code k=1" in note
    assert "prose" not in note
    assert found.by_class["prose"].best == found.best
    document = found.as_json()["by_class"]
    assert isinstance(document, dict)
    assert document["code"]["loss_at_best"] > 0.1
    assert set(document["code"]) >= {"best", "plateau", "curve", "cost"}


def test_classes_whose_difference_may_be_chance_are_not_named() -> None:
    few = [
        point(k, tuple(rate * share for rate in RATES), 42, 1.9, rounds=40).model_copy(update={"kind": kind})
        for k in (5, 15)
        for kind, share in (("code", 1.05), ("prose", 0.95))
    ]
    found = answer([point(15, RATES, 42, 1.9), point(5, RATES, 42, 1.9), *few])
    assert set(found.by_class) == {"code", "prose"}
    assert not any("classes" in note for note in found.notes)


def test_runs_of_the_same_that_contradict_each_other_are_named() -> None:
    found = answer([FIELD_15, FIELD_5, FIELD_5.model_copy(update={"tok_s": 2000.0})])
    assert "k=5 was measured at 61.3 and at 2000.0 tok/s" in found.notes[0]


def test_points_that_make_no_cost_line_are_said_not_to() -> None:
    """A round of five tokens in a quarter of the time of one of fifteen: the line falls through zero."""
    found = answer([FIELD_15, FIELD_5.model_copy(update={"tok_s": 180.0})])
    assert any("the points contradict a cost line" in note for note in found.notes)
    assert found.best > 0  # and what it would say about no speculation is nothing to build on


def test_off_is_found_without_being_measured_where_nothing_is_accepted() -> None:
    nothing = [point(k, (0.0,) * 15, 40, 1.9) for k in (15, 5)]
    found = answer(nothing)
    assert found.best == 0
    assert any("k=0 is predicted, not measured: confirm it by a run" in note for note in found.notes)


def test_speculation_that_should_be_off_is_said() -> None:
    off = Point(speculative_tokens=0, tok_s=40, concurrency=1)
    found = answer([point(15, RATES, 40, 12), point(3, RATES, 40, 12), off])
    assert found.best == 0
    assert any(note.startswith("speculation should be off") for note in found.notes)


def test_tokens_beyond_the_drafters_block_are_named() -> None:
    beyond = FIELD_15.model_copy(update={"block_size": 8})
    assert any("k=15 is above what the drafter was trained for" in note for note in answer([beyond, FIELD_5]).notes)


def test_the_json_answer_has_the_promised_fields() -> None:
    document = answer([FIELD_15, FIELD_5]).as_json()
    assert set(document) == {"best", "plateau", "curve", "cost", "notes"}
    curve = document["curve"]
    assert isinstance(curve, list)
    assert [entry["speculative_tokens"] for entry in curve] == list(range(16))
    assert set(curve[0]) >= {"speculative_tokens", "tok_s", "low", "high"}
    assert isinstance(document["cost"], dict)
    assert set(document["cost"]) == {"a_ms", "b_ms"}


@pytest.mark.parametrize("points", [[FIELD_15, FIELD_5], [*sweep(1), *sweep(8)], [point(3, RATES, 40, 1)]])
def test_the_table_shows_every_k_and_the_best(points: list[Point]) -> None:
    out = StringIO()
    found = answer(points)
    Console(file=out, width=120).print(tune_table(found))
    lines = out.getvalue().splitlines()
    assert f"best: {found.best} tokens" in lines[0]
    assert sum(line.rstrip().endswith(("best", "best, measured")) for line in lines) == len(found.by_concurrency)
