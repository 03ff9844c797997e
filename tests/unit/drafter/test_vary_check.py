"""A search in what no engine reads, or with values of a wrong type, is refused before anything is started."""

from typing import Any

import pytest
from pydantic import JsonValue

from inventory.errors import UsageError
from inventory.models import Drafter
from roles.drafter.check import check
from roles.drafter.config import merge
from roles.drafter.finding import Finding
from roles.drafter.vary import Field, combinations, read
from roles.drafter.vary_check import refuse_unusable

CONFIG: dict[str, Any] = {
    "architectures": ["DFlashDraftModel"],
    "own_key": 1,
    "dflash_config": {"mask_token_id": 1, "target_layer_ids": [1], "own": {"deep": 1}},
}


def alone(field: Field, value: JsonValue) -> tuple[Finding, ...]:
    (one,) = combinations((Field(field.name, field.place, (value,)),))
    drafter = Drafter(method="dflash", path="/models/drafter", tokens=7)
    return check(merge(CONFIG, one.overlay), None, None, drafter).findings


def search(*vary: str, unread: bool = False) -> None:
    refuse_unusable(read(vary, CONFIG), CONFIG, alone, unread=unread)


@pytest.mark.parametrize(
    ("vary", "why", "attempt"),
    [
        (
            "maks_token_id=1,2",
            "maks_token_id: no engine reads it; mask_token_id is what engines read",
            "--vary mask_token_id=1,2",
        ),
        (
            "dflash_config.target_layer_idss=[1];[2]",
            "dflash_config.target_layer_ids is what engines read",
            '--vary "dflash_config.target_layer_ids=[1];[2]"',
        ),
        ("use_swa=true,false", "dflash_config.use_swa is what engines read", "--vary dflash_config.use_swa=true,false"),
        ("foo=1,2", "foo: no engine is known to read it", "--allow-drafter-errors, where this engine does read it"),
        ("dflash_config.foo=1,2", "dflash_config.foo: no engine", "--allow-drafter-errors, where this engine"),
        ("mask_token_id=5,abc", "dflash_config.mask_token_id: 'abc' is not a whole number", "=VALUE,VALUE"),
        ("mask_token_id=5,abc,6", "'abc' is not a whole number", "--vary mask_token_id=5,6"),
        ("use_sliding_window=true,1", "use_sliding_window: 1 is not true or false", "=VALUE,VALUE"),
        ('dflash_config={"mask_token_id":"x"};{"mask_token_id":2}', "'x' is not a whole number", "=VALUE,VALUE"),
    ],
)
def test_search_that_can_find_nothing_is_refused_with_what_to_type(vary: str, why: str, attempt: str) -> None:
    with pytest.raises(UsageError) as refused:
        search(vary)
    assert why in "\n".join(refused.value.why)
    assert attempt in "\n".join(refused.value.tries)


@pytest.mark.parametrize(
    "vary",
    ["mask_token_id=1,2", "target_layer_ids=[1];[2]", "block_size=8,16", "own_key=1,2", "dflash_config.own.deep=1,2"],
)
def test_what_engines_read_and_what_the_config_has_is_searched(vary: str) -> None:
    search(vary)


def test_key_that_only_this_engine_reads_can_be_insisted_on_and_a_wrong_type_cannot() -> None:
    search("foo=1,2", unread=True)
    with pytest.raises(UsageError, match="mask_token_id"):
        search("foo=1,2", "mask_token_id=5,abc", unread=True)


def test_only_the_fields_that_are_wrong_are_named() -> None:
    with pytest.raises(UsageError, match=r"^--vary foo: no search") as refused:
        search("mask_token_id=1,2", "foo=1,2")
    assert len(refused.value.why) == 1
