"""`invoke drafter PATH` as a whole: what it prints in each form, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from playbooks.drafter import Options, run

CONFIGS = Path(__file__).parents[2] / "cases" / "drafter" / "configs"
WRONG = Options(
    path=str(CONFIGS / "bad-seeds-qwen3.6-27b.json"),
    target=str(CONFIGS / "qwen3.6-27b.target.json"),
    repository="z-lab/Qwen3.6-27B-DFlash",
    engine="0.33.0",
    tokens="7",
)
RIGHT = Options(path=str(CONFIGS / "qwen3-8b.json"), target=str(CONFIGS / "qwen3-8b.target.json"), tokens="7")


def drafter(options: Options, *hosts: str, as_json: bool = False, as_sarif: bool = False) -> int:
    return run(hosts, None, options, as_json=as_json, as_sarif=as_sarif)


def test_errors_end_with_1_and_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert drafter(WRONG) == 1
    said = capsys.readouterr().out
    assert said.startswith(f"{WRONG.path}: 3 errors\nerror dflash_config.mask_token_id ")
    assert "-> drafter.config: {dflash_config: {mask_token_id: 248070}}" in said


def test_no_errors_end_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert drafter(RIGHT) == 0
    assert "nothing is wrong" in capsys.readouterr().out


def test_json_says_ok_findings_and_what_cannot_be_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert drafter(WRONG, as_json=True) == 1
    written: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert written["ok"] is False
    assert written["exit_code"] == 1
    assert written["findings"][0].keys() >= {"rule", "severity", "field", "message", "remedy", "expected"}
    assert {one["field"] for one in written["unknowable"]} >= {"rope_theta", "weights"}


def test_sarif_has_the_path_as_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert drafter(WRONG, as_sarif=True) == 1
    (only,) = json.loads(capsys.readouterr().out)["runs"]
    assert {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in only["results"]} == {
        WRONG.path
    }


def test_file_that_is_no_json_is_an_error_and_no_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text("{")
    assert drafter(Options(path=str(tmp_path))) == 1
    assert "config-json" in capsys.readouterr().out


def test_folder_without_a_config_is_refused_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("weights are to follow")
    assert drafter(Options(path=str(tmp_path)), as_json=True) == 1
    assert [one["rule"] for one in json.loads(capsys.readouterr().out)["findings"]] == ["config"]


@pytest.mark.parametrize(
    ("options", "hosts", "says"),
    [
        (Options(path="/nowhere"), (), "No such file"),
        (Options(path=RIGHT.path), ("ct129",), "do not go together"),
        (Options(launch="gone.json"), ("ct129",), "do not go together"),
        (Options(path=RIGHT.path, tokens="many"), (), "whole number"),
        (Options(path=RIGHT.path, drafter_config="gone.json"), (), "--drafter-config: gone.json"),
    ],
)
def test_wrong_usage_ends_with_2(
    options: Options, hosts: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drafter(options, *hosts) == 2
    assert says in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x89PNG", "is not JSON: it is no text"),
        (b"{", "is not JSON: Expecting"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "no JSON object"),
        (b"1" * 5000, "is not JSON: Exceeds the limit"),
    ],
)
def test_drafter_config_that_cannot_be_read_says_what_is_wanted(
    content: bytes, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.json").write_bytes(content)
    assert drafter(Options(path=RIGHT.path, drafter_config=str(tmp_path / "c.json"))) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert says in said
    assert "Try: --drafter-config FILE" in said
    assert "codec" not in said


def test_two_forms_of_one_answer_are_wrong_usage() -> None:
    assert drafter(RIGHT, as_json=True, as_sarif=True) == 2


bytes_of_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
).map(lambda value: json.dumps(value).encode())
contents = st.binary(max_size=60) | bytes_of_json


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(config=contents, target=contents, tokenizer=contents, weights=contents)
def test_any_files_are_answered(
    config: bytes, target: bytes, tokenizer: bytes, weights: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Property: whatever bytes lie in the folders, there are findings as JSON, and an exit code of 0 or 1."""
    files = {"config.json": config, "model.safetensors": weights, "model.safetensors.index.json": tokenizer}
    folders = tmp_path / "drafter", tmp_path / "target"
    for folder, content in zip(folders, (files, {"config.json": target, "tokenizer.json": tokenizer}), strict=True):
        folder.mkdir(exist_ok=True)
        for name, data in content.items():
            (folder / name).write_bytes(data)
    code = drafter(Options(path=str(folders[0]), target=str(folders[1]), engine="0.33.0"), as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert code == document["exit_code"] == (0 if document["ok"] else 1)


@pytest.mark.parametrize(
    ("name", "said"), [("p.png", "is not text"), ("empty", "is an empty folder"), ("none", "No such file")]
)
def test_what_is_no_drafter_at_all_is_wrong_usage(
    name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (tmp_path / "empty").mkdir()
    assert drafter(Options(path=str(tmp_path / name))) == 2
    answer = capsys.readouterr()
    assert said in answer.err
    assert not answer.out


def test_text_that_is_cut_in_a_letter_is_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its beginning is looked at, and that may end anywhere."""
    (tmp_path / "config.json").write_text('{"_": "' + "\u20ac" * 300 + '"}', encoding="utf-8")
    assert drafter(Options(path=str(tmp_path / "config.json"))) == 1
    assert "is not text" not in capsys.readouterr().err
