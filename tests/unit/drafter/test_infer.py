"""A config from weights and target: certain sizes, a formula where it holds, candidates, and what stays unknown."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from inventory.models import Drafter
from roles.drafter import inferred_text, known
from roles.drafter.check import Report, check
from roles.drafter.engines import traits
from roles.drafter.facts import DrafterFacts
from roles.drafter.infer import MARK, Inference, infer
from roles.drafter.layer_ids import predicted
from tests.unit.drafter.weights import header

QWEN36: dict[str, Any] = {"num_hidden_layers": 64, "hidden_size": 5120, "vocab_size": 248320, "rope_theta": 10000000}
ADDED = {248044 + number: f"<|{number}|>" for number in range(26)}
DFLASH2 = {"layers.0.attention_conv.weight": [5120, 1, 4], "selector.weight": [256, 5120]}


def inferred(weights: dict[str, Any], target: dict[str, Any] | None, **more: Any) -> Inference:
    have = {key: more.pop(key) for key in ("added_tokens", "drafter_config") if key in more}
    return infer(header(weights), DrafterFacts(target_config=target, **have), **more)


def value(inference: Inference, field: str) -> Any:
    return next((one.value for one in inference.values if one.field == field), None)


def lost(inference: Inference) -> dict[str, str]:
    return {one.field: one.why for one in inference.lost}


# Every published DFlash drafter whose layers are known: layers and width of the target, captured layers.
PUBLISHED = [
    (36, 2560, [1, 9, 17, 25, 33]),
    (36, 4096, [1, 9, 17, 25, 33]),
    (48, 2048, [1, 12, 23, 34, 45]),
    (24, 2880, [1, 6, 11, 16, 21]),
    (32, 4096, [1, 8, 15, 22, 29]),
    (64, 5120, [1, 16, 31, 46, 61]),
    (48, 3072, [1, 7, 14, 20, 26, 32, 39, 45]),
    (40, 2048, [1, 6, 11, 16, 22, 27, 32, 37]),
]


@pytest.mark.parametrize(("layers", "width", "ids"), PUBLISHED)
def test_layer_ids_of_published_dflash_drafters_are_reproduced(layers: int, width: int, ids: list[int]) -> None:
    found = inferred({"hidden": width, "count": len(ids)}, {"num_hidden_layers": layers, "hidden_size": width})
    assert value(found, "dflash_config.target_layer_ids") == ids
    (how,) = [one.how for one in found.values if one.field == "dflash_config.target_layer_ids"]
    assert how == "inferred"


@pytest.mark.parametrize("extra", [DFLASH2, {"markov_head.weight": [5120, 256], "confidence_head.weight": [1, 5120]}])
def test_formula_is_not_applied_to_other_families(extra: dict[str, Any]) -> None:
    found = inferred({"add": extra}, QWEN36)
    assert value(found, "dflash_config.target_layer_ids") is None
    assert "not this formula" in lost(found)["dflash_config.target_layer_ids"]
    assert "[5, 19, 33, 47, 61], if it is that one" in lost(found)["dflash_config.target_layer_ids"]
    assert "dflash_config.target_layer_ids" in found.missing


def test_repository_that_is_known_settles_also_what_no_formula_gives() -> None:
    found = inferred({"add": DFLASH2}, QWEN36, repository="z-lab/Qwen3.8-27B-DFlash2")
    assert value(found, "dflash_config.target_layer_ids") == [5, 19, 33, 47, 61]
    assert value(found, "block_size") == 8
    assert found.missing == ()


def test_sizes_are_read_from_shapes() -> None:
    config = inferred({"heads": 24, "kv_heads": 4, "head_dim": 256, "layers": 3, "dtype": "F16"}, QWEN36).config
    wanted = {
        "architectures": ["DFlashDraftModel"],
        "num_hidden_layers": 3,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "hidden_size": 5120,
        "intermediate_size": 17408,
        "attention_bias": False,
        "torch_dtype": "float16",
        "vocab_size": 248320,
        "num_target_layers": 64,
    }
    assert wanted.items() <= config.items()
    assert "target_hidden_size" not in config


def test_drafter_that_is_narrower_than_its_target_says_so() -> None:
    config = inferred({"hidden": 2048, "target_hidden": 5120}, QWEN36).config
    assert (config["hidden_size"], config["target_hidden_size"]) == (2048, 5120)


def test_what_was_not_read_is_marked_and_what_was_read_is_not() -> None:
    config = inferred({}, QWEN36, names=["Qwen3.6-27B"]).config
    marks: Any = config[MARK]
    marked = {field for fields in marks.values() for field in fields}
    assert {"dflash_config.mask_token_id", "layer_types", "sliding_window", "rope_theta"} <= set(marks["assumed"])
    assert set(marks["inferred"]) == {"dflash_config.target_layer_ids"}
    assert not marked & {"hidden_size", "num_hidden_layers", "architectures"}


def test_inferred_config_passes_the_check() -> None:
    found = inferred({}, QWEN36, names=["Qwen3.6-27B"], added_tokens=ADDED)
    report = check(found.config, QWEN36, header({}), Drafter(path="/d", tokens=7), traits("0.33.0"))
    assert report.ok


def test_name_of_a_folder_tells_drafters_of_one_size_apart() -> None:
    sliding = ["sliding_attention"] * 4 + ["full_attention"]
    for name in ("Qwen3.6-27B", "qwen3.6-27b-dflash"):
        found = inferred({}, QWEN36, names=[name])
        assert value(found, "layer_types") == sliding
        assert value(found, "use_sliding_window") is True
        assert value(found, "sliding_window") == 2048
    unnamed = inferred({}, QWEN36)
    assert value(unnamed, "layer_types") == ["full_attention"] * 5
    assert value(unnamed, "sliding_window") is None
    assert "layer_types" in lost(unnamed)


def test_window_without_layers_that_use_it_is_left_out() -> None:
    """Of this revision the window is known, and which layers slide is not."""
    target = {"num_hidden_layers": 48, "hidden_size": 5120}
    found = inferred({"layers": 4, "count": 6}, target, repository="z-lab/Qwen3.5-122B-A10B-DFlash", revision="6c7242c")
    assert value(found, "layer_types") == ["full_attention"] * 4
    assert value(found, "sliding_window") is None


def test_mask_candidates_have_reasons_and_the_first_is_taken() -> None:
    found = inferred({}, QWEN36, added_tokens=ADDED)
    assert [one.token for one in found.masks] == [248070, 248077]
    assert found.masks[0].reasons[-1].startswith("the first row after the tokenizer's added tokens")
    assert value(found, "dflash_config.mask_token_id") == 248070


def test_unknown_family_has_what_its_tokenizer_offers() -> None:
    target = {"num_hidden_layers": 30, "hidden_size": 5120, "vocab_size": 1003}
    found = inferred({}, target, added_tokens={1000: "<|reserved_0|>", 1001: "<|MASK|>", 1002: "<|end|>"})
    assert [one.token for one in found.masks] == [1001, 1000]  # 1003 is no row of the embedding


def test_row_behind_added_tokens_that_stand_first_is_ordinary_text() -> None:
    target = {"num_hidden_layers": 30, "hidden_size": 5120, "vocab_size": 1003}
    found = inferred({}, target, added_tokens={0: "<|end|>", 1: "<|start|>"})
    assert found.masks == ()
    assert "dflash_config.mask_token_id" in found.missing


def test_nothing_is_made_up_without_a_target() -> None:
    found = inferred({}, None)
    assert found.missing == ("dflash_config.mask_token_id", "dflash_config.target_layer_ids")
    assert {"target", "rope_theta", "layer_types"} <= set(lost(found))


def test_config_at_hand_is_kept_unless_the_weights_contradict_it() -> None:
    had = {
        "rope_theta": 5,
        "num_hidden_layers": 9,
        "odd": {"kept": 1},
        "dflash_config": {"mask_token_id": 1, "more": 2},
    }
    config = inferred({}, QWEN36, drafter_config=had).config
    assert (config["rope_theta"], config["num_hidden_layers"], config["odd"]) == (5, 5, {"kept": 1})
    assert config["dflash_config"] == {"mask_token_id": 1, "more": 2, "target_layer_ids": [1, 16, 31, 46, 61]}


def test_drafter_of_another_target_is_told() -> None:
    found = inferred({"target_hidden": 4000}, QWEN36)
    assert "another target's drafter" in lost(found)["dflash_config.target_layer_ids"]


def test_tensors_of_no_drafter_give_sizes_at_most() -> None:
    found = inferred({"drop": ["fc.weight", "hidden_norm.weight"]}, QWEN36)
    assert "architectures" in found.missing
    assert "architectures" in lost(found)


def test_inference_is_told_to_people_and_to_programs() -> None:
    found = inferred({"add": DFLASH2}, QWEN36)
    told = inferred_text.table(found, Report((), ()))
    assert "not this formula" in told
    assert "not known at all, and needed: dflash_config.target_layer_ids" in told
    assert "the check of this config: no findings" in told
    program = json.loads(json.dumps(inferred_text.as_json(found, Report((), ()))))
    assert program["missing"] == ["dflash_config.target_layer_ids"]
    assert program["config"]["hidden_size"] == 5120


TABLE = yaml.safe_load(Path(known.__file__).with_name("known.yml").read_text())["drafters"]


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: f"{entry['repository']}@{entry.get('revision', '')}")
def test_formula_holds_for_all_of_the_table_but_the_other_families(entry: dict[str, Any]) -> None:
    """What is added to the table must be reproduced as well, or be of another family."""
    ids = entry["fields"].get("target_layer_ids")
    if ids is not None:
        follows = predicted(entry["target"]["num_hidden_layers"], len(ids)) == tuple(ids)
        assert follows is not any(family in entry["repository"] for family in ("DFlash2", "DSpark"))


sizes = st.integers(0, 3000) | st.just(5120)


@settings(max_examples=60)
@given(
    st.fixed_dictionaries({}, optional={"layers": st.integers(0, 4), "hidden": sizes, "count": st.integers(0, 70)}),
    st.none() | st.dictionaries(st.sampled_from([*QWEN36, "text_config"]), st.none() | st.text() | sizes),
    st.none() | st.dictionaries(st.sampled_from([*QWEN36, "dflash_config"]), st.none() | st.text() | sizes),
    st.dictionaries(st.integers(-5, 10**6), st.text(max_size=8), max_size=4),
)
def test_any_weights_and_any_target_are_answered(weights: Any, target: Any, config: Any, added: Any) -> None:
    """Property: the answer is a config as JSON, ids within the target, and a mask token that is a row of it."""
    found = inferred(weights, target, drafter_config=config, added_tokens=added)
    json.dumps(found.config)
    for candidate in found.masks:
        assert candidate.token >= 0
    kept = {one.field for one in found.values if one.how == "kept"}
    ids = value(found, "dflash_config.target_layer_ids")
    if ids is not None and "dflash_config.target_layer_ids" not in kept:
        assert target is not None
        assert max(ids) < target["num_hidden_layers"]
