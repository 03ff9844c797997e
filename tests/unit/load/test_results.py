"""Files of results: real ones of other tools, cut short, and whatever else a file may hold."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inventory.errors import UsageError
from roles.load.compare import compare
from roles.load.files.read import read_results
from roles.load.history import Run
from roles.load.values import number, text
from roles.load.values import row as row_of
from tests.unit.load.test_compare import BEFORE, row

CASES = sorted((Path(__file__).parents[2] / "cases" / "load").glob("results-*.json"))
VLLM = {
    "date": "20261129-120000",
    "model_id": "m",
    "num_prompts": 50,
    "completed": 50,
    "duration": 100.0,
    "total_input_tokens": 4000,
    "total_output_tokens": 5000,
    "output_throughput": 50.0,
    "max_concurrency": 1,
    "median_ttft_ms": 200.0,
    "mean_tpot_ms": 20.0,
    "spec_decode_num_drafts": 195,
    "spec_decode_draft_tokens": 975,
    "spec_decode_accepted_tokens": 418,
    "spec_decode_per_position_acceptance_rates": [0.8, 0.556, 0.377, 0.245, 0.166],
}


def _file(folder: Path, *documents: object) -> Path:
    path = folder / "result.json"
    path.write_text("\n".join(json.dumps(document) for document in documents))
    return path


def _one(folder: Path, document: object) -> Run:
    (run,) = read_results(_file(folder, document), "ct129")
    return run


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_real_file_is_read_as_runs(case: Path, tmp_path: Path) -> None:
    content = json.loads(case.read_text())
    runs = read_results(_file(tmp_path, *content["lines"]), "ct129")
    for run, wanted in zip(runs, content["runs"], strict=True):
        summary = dict(run.summary or {})
        requests = summary.pop("requests", [])
        assert isinstance(requests, list)
        assert summary.pop("source")
        assert run.conditions == wanted["conditions"]
        assert _rounded(summary) == wanted["summary"]
        assert run.counts == wanted["counts"]
        assert [doubt["message"] for doubt in run.doubts] == wanted["doubts"]
        assert len(requests) == wanted["requests"]
        assert not requests or _rounded(requests[0]) == wanted["first_request"]
        assert wanted["at"] is None or run.at.isoformat() == wanted["at"]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return round(value, 9) if isinstance(value, float) else value


def test_guidellms_time_per_output_token_holds_the_first_one_and_is_not_ours(tmp_path: Path) -> None:
    case = json.loads(next(path for path in CASES if "guidellm" in path.stem).read_text())
    metrics = case["lines"][0]["benchmarks"][0]["metrics"]
    tpot_s = number(read_results(_file(tmp_path, *case["lines"]), "ct129")[0].summary, "tpot_s", "mean")
    assert tpot_s == pytest.approx(metrics["inter_token_latency_ms"]["successful"]["mean"] / 1e3)
    assert metrics["time_per_output_token_ms"]["successful"]["mean"] / 1e3 > 1.2 * (tpot_s or 0)


def test_guidellms_prompts_are_told_apart_by_what_was_asked_or_else_by_their_place(tmp_path: Path) -> None:
    case = json.loads(next(path for path in CASES if "guidellm" in path.stem).read_text())
    benchmark = case["lines"][0]["benchmarks"][0]
    one = benchmark["requests"]["successful"][0]
    others = [{**one, "request_args": "not JSON"}, {**one, "request_args": None, "prompt": "asked"}]
    benchmark["requests"]["successful"] = [one, {**one, "request_id": "another"}, *others, *others]
    requests = row_of(read_results(_file(tmp_path, *case["lines"]), "ct129")[0].summary, "requests")
    names = [text(request, "prompt") for request in requests]
    assert names[0] == names[1] != names[3] == names[5]
    assert (names[2], names[4]) == ("2", "4")


def test_counts_come_as_counts(tmp_path: Path) -> None:
    assert _one(tmp_path, VLLM).counts == {
        "rounds": 195,
        "accepted": 418,
        "drafted": 975,
        "per_position": [156, 108, 74, 48, 32],
        "k": 5,
    }


def test_the_same_prompts_are_compared_and_others_are_not(tmp_path: Path) -> None:
    before = _one(tmp_path, VLLM)
    after = _one(tmp_path, {**VLLM, "output_throughput": 60.0})
    assert row(compare(before, after), "all streams").change == pytest.approx(0.2)
    assert any("prompts" in refusal for refusal in compare(before, BEFORE).refusals)


def test_tokens_that_a_tool_counted_its_own_way_are_not_compared(tmp_path: Path) -> None:
    case = json.loads(next(path for path in CASES if "aiperf" in path.stem).read_text())
    own, servers = (_one(tmp_path, line) for line in case["lines"])
    assert compare(BEFORE, own).refusals[-1].startswith("the run now: aiperf counted 629 tokens, the server 384")
    assert not servers.doubts


def test_a_histogram_of_accepted_drafts_is_exact_counts(tmp_path: Path) -> None:
    case = json.loads(next(path for path in CASES if "aiperf" in path.stem).read_text())
    histogram = {"pooled_spec_decode_acceptance_histogram": {"0": 20, "1": 30, "3": 50}}
    run = _one(tmp_path, {**case["lines"][1], **histogram})
    assert run.counts == {"rounds": 100, "accepted": 180, "drafted": 0, "per_position": [80, 50, 50], "k": None}


def test_failed_requests_are_told_and_many_spoil_a_run(tmp_path: Path) -> None:
    few, many = (_one(tmp_path, {**VLLM, "failed": failed}).doubts[0] for failed in (1, 10))
    assert few["message"] == "1 of 51 requests failed"
    assert (few["spoils"], many["spoils"]) == (False, True)


def test_what_bench_saved_comes_back_as_it_was(tmp_path: Path) -> None:
    requests = [{"prompt": "a", "ttft_s": 0.2, "latency_s": 1.0, "tokens": 64}]
    document = {
        "host": "ct129",
        "release": "r1",
        "at": BEFORE.at.isoformat(),
        "conditions": dict(BEFORE.conditions),
        "summary": dict(BEFORE.summary or {}),
        "acceptance": {**(BEFORE.counts or {}), "acceptance_length": 3.0},
        "engine": {"preemptions": 0},
        "doubts": [],
        "requests": requests,
    }
    wanted = {**(BEFORE.summary or {}), "requests": requests, "engine": {"preemptions": 0}}
    for file in (document, [document], {"hosts": [document]}, {"hosts": [{"host": "ct129", "runs": [document]}]}):
        run = _one(tmp_path, file)
        summary = {name: value for name, value in (run.summary or {}).items() if name != "source"}
        assert replace(run, summary=summary, id=1) == replace(BEFORE, summary=wanted)


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"output_throughput": "fast", "model_id": "m"}', "5", "", "{", "null"]
)
def test_anything_else_is_refused_with_what_would_do(content: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=r"holds no results|is not JSON"):
        read_results(path, "ct129")


KEYS = sorted({*VLLM, "benchmarks", "metrics", "backend", "dataset_name", "server_info", "hosts", "runs", "requests"})
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner),
    max_leaves=8,
)


@given(ANYTHING, st.sampled_from(CASES), st.sampled_from(KEYS), ANYTHING)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
def test_whatever_a_file_holds_is_read_or_refused_in_words(
    tmp_path: Path, alone: Any, case: Path, name: str, value: Any
) -> None:
    """Property: any JSON, and any real result in which any field is anything, raises nothing but UsageError."""
    spoilt = {**json.loads(case.read_text())["lines"][0], name: value}
    for document in (alone, spoilt):
        with suppress(UsageError):
            for run in read_results(_file(tmp_path, document), "ct129"):
                assert json.dumps(compare(run, BEFORE).as_json(), allow_nan=False)
