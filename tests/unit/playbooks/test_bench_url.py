"""invoke bench.url: a server that says what it is, one that does not, and none."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playbooks import bench_url
from playbooks.site import STATE_VARIABLE, history_in
from tests.unit.load.engine import MODEL, Engine
from tests.unit.load.test_sglang import metrics

MODELS = json.dumps({"data": [{"id": MODEL}, {"id": "another"}]})
SGLANG = {
    "model_path": f"/models/{MODEL}",
    "version": "0.5.23",
    "speculative_algorithm": "NEXTN",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
    "internal_states": [{"avg_spec_accept_length": 2.5}],
    "api_key": "never to be kept",
}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    engine = Engine()
    engine.answers["/v1/models"] = lambda: MODELS
    yield engine
    engine.close()


def _answer(url: str, capsys: pytest.CaptureFixture[str], told: tuple[str, ...] = (), **options: str) -> dict[str, Any]:
    wanted = bench_url.Options(**{"prompts": "4", "max_tokens": "16", **options})
    code = bench_url.run_url(url, wanted, model=None, key=None, host="other", told=told, as_json=True)
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == code
    return document


def test_sglang_says_with_each_answer_what_its_rounds_accepted(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.answers["/server_info"] = lambda: json.dumps(SGLANG)
    answer = _answer(engine.url, capsys)
    assert answer["acceptance"]["per_position_rates"] == [5 / 6, 0.5, 0.5]
    assert answer["acceptance"]["rounds"] == 4 * 6
    assert answer["conditions"]["extra_body"] == {}
    assert all(request["return_spec_tokens_details"] for request in engine.requests)


def test_an_older_sglang_says_how_it_drafts_and_its_counters_count_the_rounds(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.tells_drafts = False
    readings = iter([metrics(100, 500, 4), *[metrics(200, 790, 14)] * 50])
    engine.answers |= {"/server_info": lambda: json.dumps(SGLANG), "/metrics": lambda: next(readings)}
    answer = _answer(engine.url, capsys, ("gpu=H200", "temperature=0.0"))
    conditions = answer["conditions"]
    known = {"engine": "sglang 0.5.23", "method": "mtp", "k": 3, "draft_tokens": 4, "gpu": "H200", "tool": "specrail"}
    assert {name: conditions[name] for name in known} == known
    assert answer["acceptance"]["acceptance_length"] == 2.8
    assert "never to be kept" not in json.dumps(answer)
    (kept,) = history_in(tmp_path / "state").list("other", "bench")
    assert kept.release == "sglang 0.5.23"
    assert kept.counts == {"rounds": 100, "accepted": 180, "drafted": 300, "per_position": [], "k": 3}


def test_without_counters_the_length_is_of_all_its_time_and_that_is_said(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.tells_drafts = False
    engine.answers |= {"/server_info": lambda: json.dumps(SGLANG), "/metrics": lambda: ""}
    answer = _answer(engine.url, capsys)
    assert any("since its start" in doubt["message"] for doubt in answer["doubts"])
    (kept,) = history_in(tmp_path / "state").list("other", "bench")
    assert (kept.summary or {})["acceptance_length"] == 2.5


def test_a_server_that_says_only_its_version_is_vllm(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.answers["/version"] = lambda: '{"version": "0.33.0"}'
    engine.answers["/server_info"] = lambda: '{"vllm_config": "..."}'
    assert _answer(engine.url, capsys)["conditions"]["engine"] == "vllm 0.33.0"
    assert {request["model"] for request in engine.requests} == {MODEL}


def test_a_second_run_is_compared_with_the_first(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert _answer(engine.url, capsys)["comparison"] is None
    assert _answer(engine.url, capsys, concurrency="2")["comparison"]["refusals"][0].startswith("other work")


@pytest.mark.parametrize(
    ("models", "said"), [("[]", "HTTP 200"), ("{", "HTTP 200"), ('{"data": [{"name": 1}]}', "HTTP 200")]
)
def test_what_lists_no_models_is_no_server(
    models: str, said: str, engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.answers["/v1/models"] = lambda: models
    answer = _answer(engine.url, capsys)
    assert (answer["exit_code"], said in answer["what"]) == (1, True)
    assert engine.requests == []


def test_nobody_there_is_unreachable(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert _answer("http://127.0.0.1:1", capsys)["exit_code"] == 6
    assert _answer("ftp://x", capsys)["exit_code"] == 2


def test_without_a_url_one_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_url.run_url("", bench_url.Options(), model=None, key=None, host=None, told=(), as_json=False) == 2
    said = capsys.readouterr().err
    assert "which server? Its URL is wanted" in said
    assert "Try:  invoke bench.url http://" in said


@pytest.mark.parametrize(
    ("flag", "path", "why"),
    [
        ("save", "missing/b.json", "there is no folder"),
        ("save", "folder.json", "it is a folder"),
        ("html", "missing/b.html", "there is no folder"),
    ],
)
def test_a_file_that_could_not_be_written_is_said_before_anything_is_measured(
    flag: str, path: str, why: str, engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder.json").mkdir()
    answer = _answer(engine.url, capsys, (), **{flag: str(tmp_path / path)})
    assert answer["exit_code"] == 2
    assert why in answer["what"]
    assert history_in(tmp_path / "state").list() == ()
