"""Results of `vllm bench serve`, read as runs."""

import json
from pathlib import Path

import pytest

from inventory.errors import UsageError
from roles.load.compare import compare
from roles.load.foreign import read_foreign
from tests.unit.load.test_compare import BEFORE

RESULT = {
    "date": "20261129-120000",
    "model_id": "m",
    "num_prompts": 50,
    "completed": 50,
    "duration": 100.0,
    "total_output_tokens": 5000,
    "output_throughput": 50.0,
    "max_concurrency": 1,
    "mean_ttft_ms": 210.0,
    "median_ttft_ms": 200.0,
    "p99_ttft_ms": 300.0,
    "mean_tpot_ms": 20.0,
    "spec_decode_num_drafts": 195,
    "spec_decode_draft_tokens": 975,
    "spec_decode_accepted_tokens": 418,
    "spec_decode_per_position_acceptance_rates": [0.8, 0.556, 0.377, 0.245, 0.166],
}


def _file(folder: Path, content: object) -> Path:
    path = folder / "result.json"
    path.write_text(json.dumps(content))
    return path


def test_numbers_come_in_our_units_and_counts_as_counts(tmp_path: Path) -> None:
    run = read_foreign(_file(tmp_path, RESULT), "ct129")
    assert run.summary is not None
    assert run.summary["ttft_s"] == {"mean": 0.21, "p50": 0.2, "p99": 0.3}
    assert run.counts == {
        "rounds": 195,
        "accepted": 418,
        "drafted": 975,
        "per_position": [156, 108, 74, 48, 32],
        "k": 5,
    }
    assert run.at.isoformat() == "2026-11-29T12:00:00+00:00"


def test_other_prompts_are_not_compared_as_if_they_were_ours(tmp_path: Path) -> None:
    found = compare(read_foreign(_file(tmp_path, RESULT), "ct129"), BEFORE)
    assert any("prompts" in refusal for refusal in found.refusals)


def test_a_run_without_speculation_has_no_counts(tmp_path: Path) -> None:
    plain = {name: value for name, value in RESULT.items() if not name.startswith("spec_decode")}
    assert read_foreign(_file(tmp_path, plain), "ct129").counts is None


@pytest.mark.parametrize("content", [[], {}, {"output_throughput": "fast"}, 5])
def test_anything_else_is_refused(content: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no result of"):
        read_foreign(_file(tmp_path, content), "ct129")
