"""`invoke drafter.infer` as a whole: what it writes where, and how it ends."""

import json
from pathlib import Path

import pytest

from playbooks.drafter import Options as CheckOptions
from playbooks.drafter import check_files
from playbooks.drafter_infer import Options, run
from tests.lab import models


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    models.make(made)
    (made / "Qwen3.6-27B-DFlash" / "config.json").unlink()
    return made


def options(folder: Path, out: Path | None = None, target: str | None = "Qwen3.6-27B") -> Options:
    return Options(
        path=str(folder / "Qwen3.6-27B-DFlash"),
        target=str(folder / target) if target else None,
        out=str(out) if out else None,
    )


def test_config_is_written_once_and_passes_the_check(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "config.json"
    assert run(options(folder, out), as_json=False) == 0
    assert "cannot be recovered:" in capsys.readouterr().out
    written = json.loads(out.read_text())
    published = json.loads((models.CONFIGS / "qwen3.6-27b.json").read_text())
    assert all(written[key] == published[key] for key in published.keys() & written.keys())
    assert written.keys() - published.keys() == {"_specrail"}
    checked = check_files(CheckOptions(path=str(out), target=str(folder / "Qwen3.6-27B"), engine="0.33.0"))
    assert checked.exit_code == 0
    assert run(options(folder, out), as_json=False) == 2
    assert "is there already" in capsys.readouterr().err


def test_without_out_stdout_is_the_config_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(options(folder), as_json=False) == 0
    assert json.loads(capsys.readouterr().out)["dflash_config"]["target_layer_ids"] == [1, 16, 31, 46, 61]


def test_what_stays_unknown_and_is_needed_ends_with_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(options(folder, target=None), as_json=True) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["missing"] == ["dflash_config.mask_token_id", "dflash_config.target_layer_ids"]


def test_folder_without_weights_is_wrong_usage(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, says in ((tmp_path, "no readable weights"), (tmp_path / "gone", "is no folder")):
        assert run(Options(path=str(path)), as_json=False) == 2
        said = capsys.readouterr().err
        assert says in said
        assert "Try:" in said
