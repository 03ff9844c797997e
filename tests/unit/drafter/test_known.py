"""The table of published drafters is well formed, and is asked by repository and revision."""

import pytest

from roles.drafter.known import drafters, family, value_of
from roles.drafter.view import view

REPOSITORIES = ["z-lab/Qwen3.6-27B-DFlash", "z-lab/Qwen3-8B-DFlash-b16", "z-lab/gpt-oss-20b-DFlash"]


@pytest.mark.parametrize("repository", REPOSITORIES)
def test_every_field_of_the_table_can_be_read_from_a_config(repository: str) -> None:
    (known,) = drafters(repository)
    config = view({"num_hidden_layers": 5})
    for name in known.fields:
        value_of(config, name)
    assert known.sources


def test_revision_chooses_between_two_that_have_one_name() -> None:
    repository = "z-lab/Qwen3.5-122B-A10B-DFlash"
    assert [known.fields["num_hidden_layers"] for known in drafters(repository)] == [4, 6]
    assert [known.fields["num_hidden_layers"] for known in drafters(repository, "2274357" + "0" * 33)] == [6]
    assert drafters(repository, "ffff") == ()


def test_unknown_repository_and_family_are_not_known() -> None:
    assert drafters("somebody/else") == ()
    assert drafters(None) == ()
    assert family(12345) is None
    assert family(None) is None


def test_family_knows_which_tokens_its_tokenizer_uses() -> None:
    qwen = family(248320)
    assert qwen is not None
    assert [qwen.uses(token) for token in (248043, 248044, 248064, 248069, 248070)] == [False, True, True, True, False]
    free = family(128256)
    assert free is not None
    assert not free.uses(128000)
