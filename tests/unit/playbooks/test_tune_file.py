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
