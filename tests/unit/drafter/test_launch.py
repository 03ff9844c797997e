"""What is passed to the engine is read as a person wrote it, and what was destroyed on the way is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import UsageError
from roles.drafter.launch import read

CONFIG = {"method": "dflash", "model": "/m/d", "num_speculative_tokens": 7, "attention_backend": "FLASH_ATTN"}


def test_value_of_the_flag_is_read() -> None:
    launch = read(json.dumps(CONFIG))
    assert (launch.method, launch.model, launch.tokens) == ("dflash", "/m/d", 7)
    assert launch.options == {"attention_backend": "FLASH_ATTN"}
    assert launch.server is not None
    assert launch.server.args == ()
    assert read('{"draft_tensor_parallel_size": 2}').server is None
    assert launch.is_known
    assert launch.findings == ()


def test_object_around_it_says_how_it_is_served(tmp_path: Path) -> None:
    around = {
        "speculative_config": CONFIG,
        "max_num_seqs": 8,
        "compilation_config": {"cudagraph_mode": "FULL"},
        "tensor_parallel_size": 2,
        "max_model_len": 100,
    }
    (tmp_path / "launch.json").write_text(json.dumps(around))
    launch = read(str(tmp_path / "launch.json"))
    assert launch.tokens == 7
    assert launch.server is not None
    assert launch.server.args == ("--max-num-seqs", "8", "--compilation-config", '{"cudagraph_mode": "FULL"}')
    assert (launch.server.tensor_parallel, launch.server.max_model_len) == (2, 100)


@pytest.mark.parametrize("tokens", [0, -1, 65, "5", 2.5, True, [3]])
def test_tokens_that_are_no_number_of_tokens_are_an_error(tokens: object) -> None:
    launch = read(json.dumps({**CONFIG, "num_speculative_tokens": tokens}))
    assert launch.tokens is None
    assert [one.field for one in launch.findings] == ["num_speculative_tokens"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (r"\{\"method\":\"qwen3_next_mtp\"\,\"num_speculative_tokens\":2\}", "escaped twice"),
        ("method:dspark", "only one pair arrived"),
        ("{method: mtp, num_speculative_tokens: 1}", "double quotes are gone"),
        ("""'{"method": "mtp"}'""", "single quotes arrived"),
        ("[1, 2]", "no JSON object"),
        ('{"method": ', "no JSON object"),
    ],
)
def test_what_a_shell_has_destroyed_is_told_from_what_is_left(text: str, why: str) -> None:
    (finding,) = read(text).findings
    assert (finding.severity, finding.field) == ("error", "speculative_config")
    assert why in finding.message
    assert "single quotes" in finding.remedy


def test_name_of_no_file_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="neither JSON nor a file: No such file"):
        read("gone.json")


def test_method_of_one_model_is_mtp() -> None:
    assert read('{"method": "qwen3_next_mtp"}').method == "mtp"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from([*CONFIG, "speculative_config", "compilation_config", "max_num_seqs", "tensor_parallel_size"])


@given(st.dictionaries(keys, anything | st.dictionaries(keys, anything)))
def test_any_object_is_read(value: dict[str, Any]) -> None:
    """Property: whatever stands in it, there is a launch, and its tokens are a number that can be asked."""
    launch = read(json.dumps(value))
    assert launch.tokens is None or 1 <= launch.tokens <= 64
    assert launch.drafter("dflash", None, None).tokens >= 1
