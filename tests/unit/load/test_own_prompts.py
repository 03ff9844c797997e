"""A user's own prompts, in the two formats that people have."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import UsageError
from roles.load.own_prompts import load_own, read_sharegpt
from roles.load.prompts import digest

QUESTION = "How do I sort a list of names by their last word in Python?"


def conversation(text: object = QUESTION, *, who: str = "human", turns: int = 2, **more: object) -> dict[str, object]:
    answers = [{"from": "gpt", "value": "Use key=."}] * (turns - 1)
    return {"conversations": [{"from": who, "value": text}, *answers], **more}


def written(tmp_path: Path, content: object) -> str:
    file = tmp_path / "chats.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(file)


def test_first_turns_become_prompts_of_their_own_class() -> None:
    (prompt,) = read_sharegpt([conversation(id="QWJhYvA_0")])
    assert (prompt.id, prompt.kind, prompt.raw) == ("QWJhYvA_0", "sharegpt", False)
    assert [(message.role, message.content) for message in prompt.messages] == [("user", QUESTION)]


@pytest.mark.parametrize(
    "unfit",
    [
        conversation(turns=1),
        conversation("Hello"),
        conversation("x" * 4097),
        conversation(" " * 100),
        conversation(who="gpt"),
        conversation(None),
        {"conversations": "none"},
        {"conversations": [["human", QUESTION], []]},
        {},
        "text",
        None,
    ],
)
def test_what_makes_no_fair_prompt_is_left_out(unfit: object) -> None:
    assert list(read_sharegpt([unfit])) == []


def test_ids_are_unique_though_the_files_are_not() -> None:
    found = list(read_sharegpt([conversation(id="a"), conversation(id="a"), conversation(), conversation(id=7)]))
    assert [prompt.id for prompt in found] == ["a", "conversation-1", "conversation-2", "conversation-3"]


def test_a_draw_is_the_same_for_everybody_with_the_same_seed(tmp_path: Path) -> None:
    path = written(tmp_path, [conversation(f"{QUESTION} ({number})", id=str(number)) for number in range(50)])
    first = load_own(path, 10)
    assert len(first) == 10
    assert digest(first) == digest(load_own(path, 10))
    assert digest(first) != digest(load_own(path, 10, seed=1))
    assert digest(first).startswith("chats@")
    assert [prompt.id for prompt in first] == [prompt.id for prompt in load_own(path, 50)][:10]


def test_a_jsonl_file_is_taken_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path, '{"prompt": "one of mine"}\n{"prompt": "another"}\n')
    assert [prompt.messages[0].content for prompt in load_own(path, 1)] == ["one of mine"]


@pytest.mark.parametrize(
    ("content", "said"), [("[{", "not JSON"), ("[]", "no conversation"), ("[1, {}]", "no conversation")]
)
def test_a_file_without_prompts_is_refused(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_own(written(tmp_path, content))


def test_a_file_that_is_not_there_is_refused_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither a set nor a file"):
        load_own(str(tmp_path / "nothing.json"))


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["conversations", "from", "value", "id"]), inner)
    ),
    max_leaves=20,
)


@given(st.lists(json_values, max_size=5))
def test_any_list_is_read(conversations: list[object]) -> None:
    """Whatever the list holds, nothing raises, and ids stay unique."""
    found = list(read_sharegpt(conversations))
    assert len({prompt.id for prompt in found}) == len(found)
