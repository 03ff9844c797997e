"""A config is merged, written and compared without losing or inventing a key."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from roles.drafter.config import diff, merge, sha256, text

words = st.text(max_size=3)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
values = scalars | st.lists(scalars, max_size=3) | st.dictionaries(words, scalars | st.lists(scalars), max_size=3)
configs = st.dictionaries(words, values, max_size=3)


def test_nested_keys_are_merged_and_lists_are_replaced() -> None:
    base = {"block_size": 16, "dflash_config": {"mask_token_id": 1, "target_layer_ids": [1, 2, 3]}, "unknown": [1]}
    overlay = {"dflash_config": {"target_layer_ids": [4]}, "rope_theta": 1e7}
    assert merge(base, overlay) == {
        "block_size": 16,
        "dflash_config": {"mask_token_id": 1, "target_layer_ids": [4]},
        "unknown": [1],
        "rope_theta": 1e7,
    }
    assert base["dflash_config"] == {"mask_token_id": 1, "target_layer_ids": [1, 2, 3]}


def test_null_replaces_a_value() -> None:
    assert merge({"sliding_window": 2048}, {"sliding_window": None}) == {"sliding_window": None}


@given(configs)
def test_text_gives_every_key_back(config: dict[str, Any]) -> None:
    """Property: writing loses nothing, whatever the keys are."""
    assert json.loads(text(config)) == config


@given(configs)
def test_merging_nothing_and_merging_itself_changes_nothing(config: dict[str, Any]) -> None:
    """Property: the empty overlay and the config itself are neutral."""
    assert merge(config, {}) == config
    assert merge(config, config) == config


@given(configs, configs)
def test_overlay_wins(base: dict[str, Any], overlay: dict[str, Any]) -> None:
    """Property: laying the same over it again changes nothing."""
    once = merge(base, overlay)
    assert merge(once, overlay) == once


@given(configs)
def test_equal_configs_have_one_digest_in_any_order_of_keys(config: dict[str, Any]) -> None:
    """Property: the digest is of the value, not of how it was written."""
    assert sha256(dict(reversed(config.items()))) == sha256(config)


@given(configs, configs)
def test_diff_is_empty_exactly_when_the_texts_are_equal(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Property: nothing that changes the file is left out of the diff."""
    assert (diff(before, after) == ()) == (text(before) == text(after))


def test_diff_names_the_nested_key() -> None:
    before = {"dflash_config": {"mask_token_id": 248064, "target_layer_ids": [1]}, "block_size": 16}
    after = {"dflash_config": {"mask_token_id": 248070, "target_layer_ids": [1]}, "rope_theta": 10000000}
    assert diff(before, after) == (
        ("block_size", "16", None),
        ("dflash_config.mask_token_id", "248064", "248070"),
        ("rope_theta", None, "10000000"),
    )
