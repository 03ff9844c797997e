"""What the rules say about real, legal and broken drafters; no JSON makes one of them stumble."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inventory.models import Drafter, Server
from roles.drafter.check import Report, check
from roles.drafter.engines import UNKNOWN, traits
from roles.drafter.rules import RULES
from tests.unit.drafter.weights import header

CASES = sorted((Path(__file__).parents[2] / "cases" / "drafter" / "check").glob("*.json"))


def judge(case: dict[str, Any]) -> Report:
    added, server = case.get("added_tokens"), case.get("server")
    return check(
        case["config"],
        case["target"],
        header(case["weights"]) if "weights" in case else None,
        Drafter.model_validate(case["drafter"]),
        traits(case["engine"]["version"], case["engine"]["pull_request"]),
        added_tokens={int(key): text for key, text in added.items()} if added else None,
        server=Server.model_validate(server) if server is not None else None,
        tokens_said=case.get("tokens_said", "yes"),
        gpus=tuple(case["gpus"]) if "gpus" in case else None,
    )


def told(findings: list[dict[str, Any]]) -> list[list[Any]]:
    """What is compared of findings, in one order."""
    return sorted(([one["severity"], one["rule"], one["field"], one["expected"]] for one in findings), key=str)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_findings_are_exactly_those_of_the_case(path: Path) -> None:
    case = json.loads(path.read_text())
    found = [one.as_json() for one in judge(case).findings if one.rule not in case["ignore"]]
    assert told(found) == told(case["findings"])


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_good_and_warned_configs_pass_and_bad_ones_are_refused(path: Path) -> None:
    assert judge(json.loads(path.read_text())).ok is not path.stem.startswith("bad-")


def test_every_rule_speaks_in_a_case_and_is_silent_in_another() -> None:
    spoken = {one["rule"] for path in CASES for one in json.loads(path.read_text())["findings"]}
    assert {rule.id for rule in RULES} - spoken == set()
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert all(rule.title for rule in RULES)


def test_ids_that_are_missing_are_not_filled_in_by_formula() -> None:
    """The formula's ids fit the weights of this family and are wrong."""
    case = json.loads(next(path for path in CASES if path.stem == "bad-ids-missing-dflash2").read_text())
    (finding,) = [one for one in judge(case).findings if one.rule == "ids-missing"]
    assert finding.expected is None
    assert "46" not in finding.message + finding.remedy


def test_what_cannot_be_known_is_said() -> None:
    config = {"architectures": ["DFlashDraftModel"], "dflash_config": {"mask_token_id": 5, "target_layer_ids": [1]}}
    unknown = {one.field for one in check(config, None, None, Drafter(path="/d", tokens=5)).unknowable}
    assert unknown >= {"dflash_config.mask_token_id", "dflash_config.target_layer_ids", "layer_types", "rope_theta"}
    assert unknown >= {"weights", "engine"}
    known = Drafter(path="/d", tokens=5, repository="z-lab/Qwen3.6-27B-DFlash")
    fields = {one.field for one in check(config, None, None, known, traits("0.33.0")).unknowable}
    assert fields == {"rope_theta", "model.path", "weights"}


def test_findings_of_errors_come_first() -> None:
    case = json.loads(next(path for path in CASES if path.stem == "bad-target-of-another-size").read_text())
    severities = [one.severity for one in judge(case).findings]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)


REAL = json.loads(next(path for path in CASES if path.stem == "good-qwen3.6-27b").read_text())
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(10**400)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
more_keys = (
    "rope_parameters",
    "text_config",
    "draft_vocab_size",
    "speculators_config",
    "n_predict",
    "quantization_config",
)
keys = sorted({*REAL["config"], *REAL["config"]["dflash_config"], *more_keys, "eagle_aux_hidden_state_layer_ids"})


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A real config with some values replaced by anything at all."""
    config: dict[str, Any] = json.loads(json.dumps(REAL["config"]))
    for key in draw(st.lists(st.sampled_from(keys), max_size=6)):
        place = config if draw(st.booleans()) else config.get("dflash_config")
        if isinstance(place, dict):
            place[key] = draw(anything)
    return config


FLAGS = ["--compilation-config", "-O", "--max-num-seqs", "--max-num-batched-tokens", "--kv-cache-dtype", "fp8", "8"]


@settings(max_examples=100)
@given(
    anything | damaged(),
    anything | damaged(),
    st.sampled_from(["dflash", "dspark", "eagle", "eagle3", "mlp_speculator", "mtp", "draft_model", "ngram"]),
    st.sampled_from([UNKNOWN, *map(traits, ("0.19.1", "0.20.1", "0.25.0", "0.26.0", "0.32.0+cpu", "0.33.0"))]),
    st.booleans(),
    st.lists(st.sampled_from(FLAGS) | anything.map(json.dumps), max_size=5),
)
def test_any_json_is_judged(config: Any, target: Any, method: Any, engine: Any, weighed: bool, args: list[str]) -> None:
    """Property: whatever stands in either file, the answer is findings with a field and a remedy, as JSON."""
    drafter = Drafter(path="/d", tokens=15, method=method, repository="z-lab/Qwen3.6-27B-DFlash" if weighed else None)
    shapes = header({}) if weighed else None
    server = Server.model_construct(**{**Server(tensor_parallel=2).__dict__, "args": tuple(args)})
    report = check(config, target, shapes, drafter, engine, added_tokens={7: "a"}, server=server)
    for finding in report.findings:
        assert finding.field
        assert finding.remedy
        assert "\n" not in finding.message
        json.dumps(finding.as_json())
