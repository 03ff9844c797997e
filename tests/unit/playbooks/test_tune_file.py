"""invoke tune --from: arithmetic without a host, as a person types it."""

import json
from pathlib import Path

import pytest

from playbooks.tune_file import from_file
from tests.unit.tune.points import FIELD_5, FIELD_15


def _file(folder: Path) -> str:
    path = folder / "points.json"
    path.write_text(json.dumps([point.model_dump(mode="json") for point in (FIELD_15, FIELD_5)]))
    return str(path)


def test_the_answer_is_one_json_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert from_file(_file(tmp_path), as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["best"] == 5
    assert document["cost"]["b_ms"] > 0


def test_people_get_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert from_file(_file(tmp_path), as_json=False) == 0
    assert "best: 5 tokens" in capsys.readouterr().out


@pytest.mark.parametrize("as_json", [True, False])
def test_a_file_that_is_not_there_is_wrong_usage(
    as_json: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert from_file(str(tmp_path / "none.json"), as_json=as_json) == 2
    said = capsys.readouterr()
    assert "none.json: No such file or directory" in said.err
    assert (json.loads(said.out)["exit_code"] == 2) if as_json else not said.out


@pytest.mark.parametrize(
    ("content", "place"),
    [
        pytest.param("[]", "the list is empty", id="empty"),
        pytest.param('[{"speculative_tokens": 0, "tok_s": 20}]', "no point speculates", id="only off"),
        pytest.param('[{"speculative_tokens": 5, "tok_s": NaN}]', "point 1: tok_s", id="nan"),
        pytest.param(
            '[{"speculative_tokens": 5, "tok_s": 40}, {"tok_s": -1}]', "point 2: speculative_tokens", id="entry"
        ),
        pytest.param('[{"speculative_tokens": 5, "tok_s": "40"}]', 'point 1: tok_s: "40"', id="text"),
        pytest.param("tok/s 40", "Invalid JSON", id="no json"),
    ],
)
def test_what_cannot_be_used_is_wrong_usage_with_its_file_and_entry(
    content: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "points.json"
    path.write_text(content)
    assert from_file(str(path), as_json=False) == 2
    said = capsys.readouterr()
    assert "points.json" in said.err
    assert place in said.err
    assert not said.out


def test_what_a_tuning_measured_can_be_fed_to_it_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One point may be enough: the answer then says what it does not know."""
    path = tmp_path / "points.json"
    path.write_text(json.dumps([FIELD_5.model_dump(mode="json")]))
    assert from_file(str(path), as_json=True) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any("one point says nothing about the cost of a token" in note for note in notes)


@pytest.mark.parametrize(
    ("beside", "flag"), [({"host": ["ct129"]}, "--host"), ({"host": [], "measure-all": True}, "--measure-all")]
)
def test_what_is_asked_of_a_host_does_not_go_with_a_file(
    beside: dict[str, object], flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert from_file(_file(tmp_path), as_json=False, beside=beside) == 2
    said = capsys.readouterr()
    assert f"--from and {flag} do not go together" in said.err
    assert not said.out
    assert from_file(_file(tmp_path), as_json=True, beside=dict.fromkeys(beside)) == 0


def test_a_folder_is_no_file_of_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert from_file(str(tmp_path), as_json=False) == 2
    assert "Try:  invoke tune --from points.json" in capsys.readouterr().err
