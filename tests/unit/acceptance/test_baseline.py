"""A baseline comes back as it was written, and what is no baseline is refused in words."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import SpecrailError
from roles.acceptance.baseline import SCHEMA, Baseline, from_json
from roles.acceptance.statistics import Comparison
from roles.acceptance.window import PromptWindow
from roles.conditions import Conditions
from tests.unit.acceptance.cases import measured

CONDITIONS = Conditions("vllm 0.33.0", "qwen", "c1f2", 15, "std-50@c1f2", 0.0, False, 1, "H200", "580.65.06", 128)
AGAIN = Comparison(0.004, -0.01, 0.018, 0.5, 8, 0.006, 0.95)
BASELINE = Baseline(
    "2026-11-29T12-25-53Z-7f3a", CONDITIONS, (PromptWindow("a", measured("right-k15-c1"), 2560),), AGAIN
)


def test_what_was_written_is_read_back() -> None:
    assert from_json(json.dumps(BASELINE.as_json())) == BASELINE


def test_one_of_an_earlier_specrail_has_no_noise_floor() -> None:
    earlier = {name: value for name, value in BASELINE.as_json().items() if name != "again"}
    assert from_json(json.dumps(earlier)) == replace(BASELINE, again=None)


def test_other_keys_beside_it_are_passed_over() -> None:
    assert from_json(json.dumps({**BASELINE.as_json(), "verdict": {"outcome": "pass"}, "later": 1})) == BASELINE


def test_pooled_is_the_sum_of_the_prompts() -> None:
    assert BASELINE.pooled.rounds == 964


@pytest.mark.parametrize(
    ("text", "said", "tried"),
    [
        ("", "not JSON", "invoke deploy"),
        ("[" * 100_000, "not JSON", "invoke deploy"),
        ("[]", "no schema number", "invoke deploy"),
        ('{"release": "r"}', "no schema number", "invoke deploy"),
        (json.dumps({**BASELINE.as_json(), "schema": 0}), "schema 0", "invoke deploy"),
        (json.dumps({**BASELINE.as_json(), "schema": SCHEMA + 1}), f"schema {SCHEMA + 1}", "git pull"),
        (json.dumps({**BASELINE.as_json(), "schema": "new"}), "'new'", "invoke deploy"),
        (json.dumps({**BASELINE.as_json(), "windows": [{"prompt": "a"}]}), "windows.0.window", "invoke deploy"),
        (json.dumps({**BASELINE.as_json(), "conditions": {"k": "many"}}), "conditions.k", "invoke deploy"),
    ],
)
def test_what_is_no_baseline_is_refused_with_the_reason_and_a_way_out(text: str, said: str, tried: str) -> None:
    with pytest.raises(SpecrailError) as refused:
        from_json(text)
    assert said in refused.value.what
    assert tried in refused.value.tries[0]


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["prompt", "window", "k", "rounds", "x"]), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["schema", "release", "conditions", "windows", "again"]), _JSON), st.binary())
def test_any_json_and_any_bytes_are_read_or_refused_in_words(stored: dict[str, Any], other: bytes) -> None:
    """Property: nothing but SpecrailError comes out, whatever lies in the file."""
    for text in (json.dumps({**stored, "schema": SCHEMA}), json.dumps(stored), other):
        with suppress(SpecrailError):
            assert isinstance(from_json(text), Baseline)
