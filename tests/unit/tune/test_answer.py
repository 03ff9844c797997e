"""Several concurrencies as one answer, and what is said beside the number."""

from io import StringIO

import pytest
from rich.console import Console

from roles.tune.answer import answer
from roles.tune.points import Point
from roles.tune.table import tune_table
from tests.unit.tune.points import FIELD_5, FIELD_15, point, sweep
from tests.unit.tune.test_predict import RATES


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


def test_an_optimum_that_changes_with_concurrency_is_said() -> None:
    alone = [point(k, (0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55), 40, 0.1) for k in (3, 8)]
    many = [point(k, (0.9, 0.2, 0.05, 0.02, 0.01, 0.01, 0.01, 0.01), 40, 10, streams=32) for k in (1, 3, 8)]
    found = answer([*alone, *many])
    assert any("the optimum changes with concurrency: k=8 at 1, k=1 at 32" in note for note in found.notes)
    assert any("no k is good at every concurrency" in note for note in found.notes)
    assert found.best == 8


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
