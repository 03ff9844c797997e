"""What people met with their drafters is refused at the exact field, and what was right all along passes."""

import json
from pathlib import Path
from typing import Any

import pytest

from playbooks.drafter import Options, check_files
from roles.drafter.check import Report

CASES = Path(__file__).parents[2] / "cases" / "drafter"
MEASURED = sorted((CASES / "measured").glob("*.json"))
REPORTS = sorted((CASES / "field").glob("*.json"))
GOOD = ["gpt-oss-20b", "qwen3-8b", "qwen3.5-27b", "qwen3.6-27b"]


def errors(report: Report | None) -> list[list[Any]]:
    assert report is not None
    return [[one.field, one.expected] for one in report.findings if one.severity == "error"]


def config(name: str) -> str:
    return str(CASES / "configs" / f"{name}.json")


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_report_is_answered_at_the_exact_field(path: Path, tmp_path: Path) -> None:
    case = json.loads(path.read_text())
    files = {}
    for name, flag in (("config", "path"), ("target", "target")):
        if case[name] is not None:
            (tmp_path / f"{name}.json").write_text(json.dumps(case[name]))
            files[flag] = str(tmp_path / f"{name}.json")
    for launch in case["launches"] or [None]:
        found = check_files(Options(**files, **case["flags"], launch=launch)).report
        assert errors(found) == case["errors"]


@pytest.mark.parametrize("tokens", ["1", "7"])
@pytest.mark.parametrize("name", GOOD)
def test_known_good_configs_pass_without_a_warning(name: str, tokens: str) -> None:
    checked = check_files(Options(path=config(name), target=config(f"{name}.target"), engine="0.33.0", tokens=tokens))
    assert {one.severity for one in checked.findings} <= {"info"}
    assert checked.exit_code == 0


def test_hand_written_config_is_refused_with_all_three_right_values_where_its_repository_is_known() -> None:
    options = Options(
        path=config("bad-seeds-qwen3.6-27b"),
        target=config("qwen3.6-27b.target"),
        repository="z-lab/Qwen3.6-27B-DFlash",
    )
    assert errors(check_files(options).report) == [
        ["dflash_config.mask_token_id", 248070],
        ["dflash_config.target_layer_ids", [1, 16, 31, 46, 61]],
        ["layer_types", ["sliding_attention"] * 4 + ["full_attention"]],
    ]


def test_hand_written_config_is_refused_and_all_three_values_are_named_where_it_is_not() -> None:
    options = Options(path=config("bad-seeds-qwen3.6-27b"), target=config("qwen3.6-27b.target"))
    checked = check_files(options)
    assert errors(checked.report) == [["dflash_config.mask_token_id", 248070]]
    assert {one.field: one.expected for one in checked.findings if one.severity == "warning"} == {
        "dflash_config.target_layer_ids": [1, 16, 31, 46, 61],
        "layer_types": ["sliding_attention"] * 4 + ["full_attention"],
    }


def test_pair_of_another_target_is_refused(tmp_path: Path) -> None:
    case = json.loads((CASES / "configs" / "bad-pair-36-on-32.json").read_text())
    for name in ("config", "target"):
        (tmp_path / f"{name}.json").write_text(json.dumps(case[name]))
    found = check_files(Options(path=str(tmp_path / "config.json"), target=str(tmp_path / "target.json"))).report
    assert errors(found) == [
        ["dflash_config.target_layer_ids", None],
        ["num_target_layers", 32],
    ]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("bad-two-block-sizes", [["block_size", None]]),
        ("bad-window-gate-qwen3.6-27b", [["use_sliding_window", True]]),
        ("warn-no-rope-theta", []),
    ],
)
def test_other_wrong_configs_are_answered(name: str, wanted: list[list[Any]]) -> None:
    checked = check_files(Options(path=config(name), target=config("qwen3.6-27b.target"), engine="0.33.0", tokens="7"))
    assert errors(checked.report) == wanted
    assert checked.findings


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.stem)
def test_configs_that_were_measured_on_a_gpu_are_judged_as_they_did(path: Path, tmp_path: Path) -> None:
    """Real runs on 0.23.0, whose model ignores layer_types: there even the right config halves its acceptance."""
    case = json.loads(path.read_text())
    for name in ("config", "target"):
        (tmp_path / f"{name}.json").write_text(json.dumps(case[name]))
    for engine, wanted in case["errors"].items():
        options = Options(path=str(tmp_path / "config.json"), target=str(tmp_path / "target.json"), engine=engine)
        found = check_files(options).findings
        assert sorted({one.rule for one in found if one.severity == "error"}) == wanted
    assert sorted({one.rule for one in found if one.severity == "warning"}) == case["warnings"]
