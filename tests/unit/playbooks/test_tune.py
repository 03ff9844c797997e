"""What a tuning is told and what it tells, without a host."""

import json
from io import StringIO

import pytest
from rich.console import Console

from inventory.errors import UsageError
from playbooks.tune_by_batch import as_lists, changes, doubts
from playbooks.tune_measure import concurrencies
from playbooks.tune_outcome import Confirmation, TuneOutcome
from roles.drafter.batch_table import KEY, read
from roles.tune.answer import answer
from roles.tune.by_batch import Range
from tests.unit.tune.points import FIELD_5, FIELD_15

TABLE = (Range(1, 4, 15), Range(5, 32, 5))
RIGHT = Confirmation(3, 1, predicted=57.0, low=54.0, high=60.0, measured=58.2)
WRONG = Confirmation(2, 1, predicted=50.0, low=48.0, high=52.0, measured=40.0)


def ended(table: tuple[Range, ...] | None = None, notes: tuple[str, ...] = ()) -> TuneOutcome:
    return TuneOutcome(
        host="ct129",
        found=answer([FIELD_15, FIELD_5]),
        stays=5,
        confirmations=(RIGHT, WRONG),
        points=(FIELD_15, FIELD_5),
        starts=2,
        release="r",
        words="k=5 is in service",
        table=table,
        notes=notes,
    )


def shown(outcome: TuneOutcome) -> str:
    out = StringIO()
    Console(file=out, width=120).print(outcome.render())
    return out.getvalue()


@pytest.mark.parametrize(("said", "found"), [(None, (4,)), ("8", (8,)), ("32,1, 8", (1, 8, 32)), ("8,8", (8,))])
def test_concurrencies_are_one_or_several_and_rise(said: str | None, found: tuple[int, ...]) -> None:
    assert concurrencies(said, 4) == found


@pytest.mark.parametrize("said", ["", "1,", "0", "a", "1.5", "-8"])
def test_what_is_no_concurrency_is_refused(said: str) -> None:
    with pytest.raises(UsageError):
        concurrencies(said, 4)


def test_prediction_stands_beside_measurement_and_says_whether_its_interval_held() -> None:
    lines = shown(ended()).splitlines()
    (right,) = (line for line in lines if "58.2" in line)
    (wrong,) = (line for line in lines if "40.0" in line and "48.0-52.0" in line)
    assert "+2.1 %" in right
    assert "inside the interval" in right
    assert "-20.0 %" in wrong
    assert "outside the interval" in wrong
    assert lines[-1].strip() == "k=5 is in service"


def test_programs_get_the_same() -> None:
    document = json.loads(json.dumps(ended(table=TABLE, notes=("a note",)).as_json()))
    assert [one["inside"] for one in document["confirmations"]] == [True, False]
    assert [one["difference"] for one in document["confirmations"]] == [0.0211, -0.2]
    assert document["per_batch_size"] == [[1, 4, 15], [5, 32, 5]]
    assert "a note" in document["notes"]
    assert set(document) >= {"best", "plateau", "curve", "cost", "notes", "points", "starts", "release"}
    assert "per_batch_size" not in ended().as_json()


def test_a_table_is_what_the_engine_takes_and_drafts_its_largest_number() -> None:
    ranges, wrong = read(as_lists(TABLE))
    assert not wrong
    assert [(one.first, one.last, one.tokens) for one in ranges] == [(1, 4, 15), (5, 32, 5)]
    assert changes(TABLE) == {"drafter.tokens": 15, f"drafter.options.{KEY}": as_lists(TABLE)}
    assert "by batch size 1-4: 15, 5-32: 5" in shown(ended(table=TABLE))


def test_a_table_that_is_slower_than_one_number_alone_is_said() -> None:
    alone = [FIELD_5.model_copy(update={"concurrency": 8, "tok_s": 300.0})]
    slow, fine = (Confirmation(5, 8, 300, 290, 310, measured) for measured in (250.0, 295.0))
    assert ["8 streams get 250.0 tok/s, with one number 300.0" in said for said in doubts([slow, fine], alone)] == [
        True
    ]
