"""invoke bench.compare, bench.import and history --all: whole answers, without any host."""

import json
from pathlib import Path

import pytest

from playbooks import bench_compare, history
from playbooks.site import STATE_VARIABLE, history_in
from tests.unit.load.test_compare import AFTER, BEFORE
from tests.unit.load.test_results import VLLM


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A result file, beside a state folder with two runs."""
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    kept = history_in(tmp_path / "state")
    kept.add(BEFORE)
    kept.add(AFTER)
    path = tmp_path / "result.json"
    path.write_text(json.dumps(VLLM))
    return str(path)


def _compared(capsys: pytest.CaptureFixture[str], *words: str, html: str | None = None) -> dict[str, object]:
    code = bench_compare.compare(words, host=None, html=html, as_json=True)
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == code
    return document


def test_two_runs_are_told_and_drawn(result: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert bench_compare.compare(["1", "last"], host=None, html=str(page), as_json=False) == 0
    said = capsys.readouterr()
    assert "2 against 1: comparable" in said.out
    assert "better +50.0 %" in said.out
    assert said.err == ""
    assert "2 runs side by side" in page.read_text()


def test_programs_get_the_verdict_of_each_pair(result: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = _compared(capsys, "1", "2", result)
    comparisons = found["comparisons"]
    assert isinstance(comparisons, list)
    assert [(one["run"], one["with"], one["verdict"]) for one in comparisons] == [(2, 1, "yes"), (3, 1, "no")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "0 runs to compare"),
        (["1"], "1 run to compare"),
        (["1", "7"], "no run 7"),
        (["1", "nowhere.json"], "nowhere.json"),
    ],
)
def test_what_cannot_be_compared_is_wrong_usage(
    words: list[str], said: str, result: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench_compare.compare(words, host=None, html=None, as_json=False) == 2
    assert said in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_said(result: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_compare.compare(["1", "2"], host=None, html=str(tmp_path), as_json=False) == 2
    assert "--html" in capsys.readouterr().err


def test_an_imported_file_has_a_number_and_what_was_told_of_it(result: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = ["engine=sglang 0.5.23", "k=3", "adaptive=true", "temperature=0.5"]
    assert bench_compare.take_in([result], host="sgl", conditions=told, as_json=True) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["new"] == 1
    (run,) = answer["runs"]
    assert (run["id"], run["host"]) == (3, "sgl")
    known = {"engine": "sglang 0.5.23", "k": 3, "adaptive": True, "temperature": 0.5}
    assert {name: run["conditions"][name] for name in known} == known
    assert _compared(capsys, "3", "1")["engines"]


@pytest.mark.parametrize("told", ["engine", "=3", "k="])
def test_what_says_nothing_changes_nothing(told: str, result: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_compare.take_in([result], host="sgl", conditions=[told], as_json=False) == 2
    assert "NAME=VALUE" in capsys.readouterr().err
    assert "runs" in _compared(capsys, "1", "2")
    assert "runs" not in _compared(capsys, "1", "3")


def test_history_of_all_lists_hosts_that_no_inventory_has(
    result: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench_compare.take_in([result], host="sgl", conditions=[], as_json=True)
    capsys.readouterr()
    page = tmp_path / "all.html"
    assert history.run_all(history.Options(html=str(page)), as_json=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["run", "1", "3", "2"]
    assert lines[2].split()[-2:] == ["result.json", "sgl"]
    assert "Acceptance length" in page.read_text()
