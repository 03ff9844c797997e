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


@pytest.fixture
def saved(result: str, tmp_path: Path) -> str:
    """What `bench --save` wrote of run 1."""
    document = {
        "host": "ct129",
        "release": BEFORE.release,
        "at": BEFORE.at.isoformat(timespec="seconds"),
        "conditions": dict(BEFORE.conditions),
        "summary": dict(BEFORE.summary or {}),
        "acceptance": dict(BEFORE.counts or {}),
        "requests": [{"prompt": "a", "ttft_s": 0.2}],
    }
    path = tmp_path / "saved.json"
    path.write_text(json.dumps([document]))
    return str(path)


@pytest.mark.parametrize("host", ["ct129", "ct130"])
def test_what_was_measured_here_is_there_already_and_where_is_said(
    host: str, saved: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench_compare.take_in([saved], host=host, conditions=[], as_json=False) == 0
    assert capsys.readouterr().out.startswith("0 new in the history, 1 was there already: run 1 of ct129\n")


def test_what_is_told_beside_a_saved_file_makes_it_new(saved: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_compare.take_in([saved], host="ct129", conditions=["gpu=H200"], as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["new"] == 1


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0", b'{"host": "ct1', b"{}", None])
def test_a_file_that_cannot_be_taken_says_what_can(
    content: bytes | None, result: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.json"
    if content is not None:
        path.write_bytes(content)
    for code in (
        bench_compare.take_in([str(path)], host="ct129", conditions=[], as_json=False),
        bench_compare.take_in([str(tmp_path)], host="ct129", conditions=[], as_json=False),
        bench_compare.compare(["1", str(path)], host=None, html=None, as_json=False),
    ):
        assert code == 2
    assert capsys.readouterr().err.count("Try:") == 3
