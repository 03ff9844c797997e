"""A drafter as it lies on a host: the folder's config under the inventory's, and what errors do to a deploy."""

import json
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import DrafterRefused
from inventory.models import Drafter
from roles.drafter import text
from roles.drafter.assess import assess, wanted_config
from roles.drafter.engines import traits
from roles.drafter.facts import DrafterFacts
from roles.drafter.finding import refuse
from roles.drafter.speculative import speculative_config
from tests.unit.drafter.weights import header

CASES = Path(__file__).parents[2] / "cases" / "drafter" / "check"
GOOD = json.loads((CASES / "good-qwen3.6-27b-known-with-weights.json").read_text())
WRONG = {
    "dflash_config": {"mask_token_id": 248064, "target_layer_ids": [1, 17, 33, 49, 63]},
    "layer_types": ["full_attention"] * 5,
    "use_sliding_window": False,
}
ENGINE = traits("0.33.0")


def drafter(**more: Any) -> Drafter:
    return Drafter.model_validate(
        {"path": "/models/drafter", "tokens": 15, "repository": "z-lab/Qwen3.6-27B-DFlash", **more}
    )


def facts(**more: Any) -> DrafterFacts:
    have = {"target_config": GOOD["target"], "drafter_config": GOOD["config"], "header": header({})}
    return DrafterFacts(**{**have, **more})


def test_folders_own_config_passes() -> None:
    report = assess(drafter(), facts(), ENGINE)
    assert report.ok
    assert report.findings == ()
    refuse(report.findings)


def test_overlay_of_the_inventory_is_what_is_judged() -> None:
    """The field report's hand-written config: three wrong fields, each named with the right value."""
    report = assess(drafter(config=WRONG), facts(), ENGINE)
    found = {one.field: one.expected for one in report.findings if one.severity == "error"}
    assert found == {
        "dflash_config.mask_token_id": 248070,
        "dflash_config.target_layer_ids": [1, 16, 31, 46, 61],
        "layer_types": ["sliding_attention"] * 4 + ["full_attention"],
    }
    with pytest.raises(DrafterRefused) as told:
        refuse(report.findings)
    assert told.value.what == (
        "the drafter's configuration is wrong: dflash_config.mask_token_id, dflash_config.target_layer_ids, layer_types"
    )
    assert "drafter.config: {dflash_config: {mask_token_id: 248070}}" in told.value.tries


def test_inventory_can_bring_the_whole_config() -> None:
    assert assess(drafter(config=GOOD["config"]), facts(drafter_config=None), ENGINE).ok
    assert wanted_config(drafter(), facts(drafter_config=None)) is None


@pytest.mark.parametrize(
    ("have", "rule", "says"),
    [
        ({"header": None, "files": {"config.json": 3}}, "weights-missing", "/models/drafter has none"),
        ({"header": None}, "weights-missing", "has nothing at all"),
        ({"header": None, "files": {"pytorch_model.bin": 3}}, "weights-missing", "only pytorch_model.bin"),
        ({"target_config": None}, "target-config", "no config.json"),
        ({"unread": ("drafter/config.json is no JSON object",)}, "config-json", "no JSON object"),
        ({"target_config": None, "unread": ("target/config.json is no JSON object",)}, "config-json", "no JSON object"),
        ({"drafter_config": None}, "config", "there is none"),
    ],
)
def test_folder_that_lacks_something_is_refused(have: dict[str, Any], rule: str, says: str) -> None:
    errors = [one for one in assess(drafter(), facts(**have), ENGINE).findings if one.severity == "error"]
    assert [one.rule for one in errors] == [rule]
    assert says in errors[0].message


def test_report_is_told_to_people_and_to_programs() -> None:
    report = assess(drafter(config=WRONG), facts(), ENGINE)
    told = text.table(report)
    assert "error dflash_config.mask_token_id" in told
    assert "248064 here, 248070 in the published z-lab/Qwen3.6-27B-DFlash" in told
    assert "-> drafter.config: {dflash_config: {mask_token_id: 248070}}" in told
    assert "cannot be known here:\n      rope_theta: " in told
    assert text.counts(report.findings) == "3 errors"
    program = json.loads(json.dumps(text.as_json(report)))
    assert program["ok"] is False
    assert program["findings"][0]["rule"] == "published-config"
    assert {one["field"] for one in program["unknowable"]} == {"rope_theta", "model.path"}
    good = text.table(assess(drafter(), facts(), ENGINE))
    assert good.startswith("nothing is wrong with this drafter's config, as far as it can be known\n")
    assert text.counts(()) == "no findings"


def test_speculative_config_always_says_the_method() -> None:
    asked = drafter(options={"attention_backend": "FLASH_ATTN"})
    assert speculative_config(asked, "/opt/specrail/vllm/releases/r/drafter") == {
        "method": "dflash",
        "model": "/opt/specrail/vllm/releases/r/drafter",
        "num_speculative_tokens": 15,
        "attention_backend": "FLASH_ATTN",
    }


def test_ngram_brings_no_model_and_options_do_not_override_fields() -> None:
    ngram = Drafter.model_construct(
        method="ngram", path=None, tokens=4, config={}, options={"prompt_lookup_max": 4, "method": "eagle"}
    )
    assert speculative_config(ngram, None) == {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}
