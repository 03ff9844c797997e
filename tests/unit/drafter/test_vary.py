"""What a search tries: fields at their place in the config, values as JSON, and every combination of them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import UsageError
from roles.drafter.config import merge
from roles.drafter.vary import combinations, read

CONFIG: dict[str, Any] = {"dflash_config": {"mask_token_id": 1, "target_layer_ids": [1]}, "block_size": 16}
MASKS = "mask_token_id=248063,248064,248070"
IDS = "target_layer_ids=[1,17,33,49,63];[1,16,31,46,61]"


def test_all_combinations_of_the_field_report_are_made() -> None:
    made = combinations(read([MASKS, IDS], CONFIG))
    assert len(made) == 6
    assert made[0].overlay == {"dflash_config": {"mask_token_id": 248063, "target_layer_ids": [1, 17, 33, 49, 63]}}
    assert made[0].label == "mask_token_id 248063, target_layer_ids [1,17,33,49,63]"
    assert [one.choice["dflash_config.mask_token_id"] for one in made[:3]] == ["248063", "248064", "248070"]
    assert len({one.choice["dflash_config.target_layer_ids"] for one in made[:3]}) == 1
    assert merge(CONFIG, made[5].overlay)["block_size"] == 16


def test_values_are_json_or_text() -> None:
    (field,) = read(['a.b="x";true;null;plain;{"c": 1}'], {})
    assert field.values == ("x", True, None, "plain", {"c": 1})
    assert combinations((field,))[4].overlay == {"a": {"b": {"c": 1}}}


@pytest.mark.parametrize(
    ("config", "place", "shift"),
    [
        (CONFIG, "dflash_config.target_layer_ids", 0),
        ({"target_layer_ids": [3]}, "target_layer_ids", 0),
        ({"transformer_layer_config": {}, "aux_hidden_state_layer_ids": [2]}, "aux_hidden_state_layer_ids", 1),
        ({"eagle_aux_hidden_state_layer_ids": [2]}, "eagle_aux_hidden_state_layer_ids", 1),
        ({"dflash_config": {"layer_ids": [2]}}, "dflash_config.layer_ids", 1),
    ],
)
def test_layers_are_asked_as_outputs_and_written_as_their_place_counts(
    config: dict[str, Any], place: str, shift: int
) -> None:
    (field,) = read(["target_layer_ids=[1,5];[2,6]"], config)
    assert field.place == place
    assert field.values == ([1 + shift, 5 + shift], [2 + shift, 6 + shift])


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ([], "nothing to search"),
        (["mask_token_id=5"], "nothing to search"),
        (["mask_token_id"], "FIELD=VALUE"),
        (["=5,6"], "FIELD=VALUE"),
        (["a b=5,6"], "FIELD=VALUE"),
        (["mask_token_id="], "has no values"),
        (["mask_token_id=5,5"], "a value twice"),
        ([MASKS, "dflash_config.mask_token_id=1,2"], "is given twice"),
        (["target_layer_ids=5,6"], "is no list of layers"),
        (["a=1,2,3,4,5,6,7,8,9", "b=1,2,3,4,5,6,7,8"], "72 combinations are too many"),
    ],
)
def test_what_makes_no_search_is_wrong_usage(asked: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read(asked, CONFIG)


def test_field_within_a_value_that_is_varied_as_a_whole_is_wrong_usage() -> None:
    fields = read(["a=1,2", "a.b=1,2"], {})
    with pytest.raises(UsageError, match="varied as a whole"):
        combinations(fields)


@given(st.lists(st.text(max_size=20) | st.sampled_from([MASKS, IDS, "a=1,2"]), max_size=3))
def test_any_flags_are_a_search_or_wrong_usage(asked: list[str]) -> None:
    """Property: the answer is candidates that differ from each other, or a UsageError."""
    try:
        made = combinations(read(asked, CONFIG))
    except UsageError:
        return
    assert len({json.dumps(one.choice, sort_keys=True) for one in made}) == len(made) >= 2
