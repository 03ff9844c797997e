"""Prompt sets: fixed, fair in any beginning, named by what was asked; a user's file is read or refused line by line."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import UsageError
from roles.load.prompts import Message, Prompt, PromptSet, digest, interleave, load_prompts, read_prompts


def write(path: Path, *lines: object) -> str:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return str(path)


def test_a_fixed_set_stays_what_it_was() -> None:
    """Numbers are compared by digest. Whoever has to change a set gives it another name, and leaves this one alone."""
    assert digest(load_prompts("std-50")) == "std-50@ee163bc2"


def test_the_standard_set_has_fifty_prompts_of_five_classes_and_six_languages() -> None:
    prompts = load_prompts()
    assert Counter(prompt.kind for prompt in prompts) == dict.fromkeys(
        ("prose", "code", "maths", "chat", "languages"), 10
    )
    assert len({prompt.id for prompt in prompts}) == len({prompt.messages for prompt in prompts}) == 50
    languages = Counter(prompt.id[:2] for prompt in prompts if prompt.kind == "languages")
    assert languages == dict.fromkeys(("de", "fr", "es", "zh", "ja"), 2)
    assert sum(len(prompt.messages) > 2 for prompt in prompts) >= 5, "no conversations"


def test_any_beginning_of_the_standard_set_holds_all_classes_alike() -> None:
    for count in range(1, 51):
        kinds = Counter(prompt.kind for prompt in load_prompts("std-50", count))
        assert (
            max(kinds.values()) - min(kinds.get(kind, 0) for kind in ("prose", "code", "maths", "chat", "languages"))
            <= 1
        )


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=40))
def test_interleaving_keeps_each_class_in_order_and_in_proportion(kinds: list[str]) -> None:
    """In the first N of M prompts a class of c has N*c/M, give or take one; and no prompt is lost."""
    prompts = [Prompt.user(str(index), name=str(index), kind=kind) for index, kind in enumerate(kinds)]
    mixed = interleave(prompts)
    assert sorted(mixed, key=lambda prompt: int(prompt.id)) == prompts
    for kind in set(kinds):
        places = [int(prompt.id) for prompt in mixed if prompt.kind == kind]
        assert places == sorted(places)
        for count in range(1, len(mixed) + 1):
            fair = count * kinds.count(kind) / len(kinds)
            assert abs(sum(prompt.kind == kind for prompt in mixed[:count]) - fair) <= 1.5


def test_the_digest_tells_apart_what_was_asked_and_nothing_else() -> None:
    one, two = Prompt.user("a", name="1", kind="x"), Prompt.user("b", name="2", kind="x")
    base = digest(PromptSet("mine", [one, two]))
    assert base.startswith("mine@")
    assert digest(PromptSet("mine", [Prompt.user("a", name="9", kind="y"), two])) == base
    others = [[one], [two, one], [one, Prompt.user("b", raw=True)], [one, Prompt("2", "x", (Message("system", "b"),))]]
    assert len({base, *(digest(PromptSet("mine", prompts)) for prompts in others)}) == 5


def test_a_part_of_a_set_keeps_its_name_and_has_a_digest_of_its_own() -> None:
    whole = load_prompts("std-50")
    assert digest(whole[:10]) == digest(load_prompts("std-50", 10))
    assert digest(whole[:10]).startswith("std-50@")
    assert digest(whole[:10]) != digest(whole)


def test_a_users_file_is_read_in_both_forms(tmp_path: Path) -> None:
    turns = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    path = write(
        tmp_path / "mine.jsonl", {"prompt": "p", "id": "first"}, "", {"messages": turns, "class": "c", "answer": 42}
    )
    prompts = load_prompts(path)
    assert prompts.name == "mine"
    assert list(prompts) == [
        Prompt("first", "own", (Message("user", "p"),)),
        Prompt("line-3", "c", (Message("system", "s"), Message("user", "u"))),
    ]


def test_a_raw_prompt_is_marked_as_one(tmp_path: Path) -> None:
    assert load_prompts(write(tmp_path / "mine.jsonl", {"prompt": "p", "raw": True}))[0].raw


def test_every_line_that_cannot_be_used_is_named_with_its_fault(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mine.jsonl",
        {"prompt": "fine", "id": "a"},
        "nonsense",
        {"prompt": " "},
        {"prompt": "p", "messages": []},
        {"messages": []},
        {"messages": [{"role": "usr", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]},
        {"messages": [{"role": "user", "content": "x"}], "raw": True},
        {"id": "nothing to ask"},
        {"prompt": "again", "id": "a"},
        {"prompt": "p", "id": "\x1b[31m"},
        "[]",
    )
    with pytest.raises(UsageError) as caught:
        load_prompts(path)
    said = str(caught.value)
    assert "mine.jsonl: 12 lines cannot be used as prompts" in said
    for number, fault in (
        (2, "Invalid JSON"),
        (3, "prompt: nothing in it"),
        (4, 'either "messages" or "prompt"'),
        (5, "messages: there are none"),
        (6, "messages.0.role: Input should be 'system'"),
        (7, "messages.0.content: Input should be a valid string"),
        (8, "the last message is the assistant's own"),
        (9, '"raw" goes with "prompt"'),
        (10, 'either "messages" or "prompt"'),
        (11, "its id 'a' is taken"),
        (12, "id: nothing in it, or a control character"),
        (13, "Input should be an object"),
    ):
        assert f"line {number}: {fault}" in said
    assert "\x1b" not in said


def test_a_file_of_many_faults_is_not_poured_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_prompts(write(tmp_path / "mine.jsonl", *["x"] * 1000))
    assert "and 980 more" in str(caught.value)
    assert len(str(caught.value).splitlines()) < 30


@given(st.binary(max_size=200))
def test_any_bytes_are_prompts_or_faults_by_line(content: bytes) -> None:
    """Nothing raises, and each line that is not blank is accounted for."""
    prompts, problems = read_prompts(content)
    assert bool(prompts or problems) == any(line.strip() for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"))


def test_an_unknown_set_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(UsageError) as caught:
        load_prompts("std50")
    assert "No such file or directory" in str(caught.value)
    assert caught.value.tries == ("std-50",)


@pytest.mark.parametrize("limit", [0, -1])
def test_no_prompts_are_no_load(limit: int) -> None:
    with pytest.raises(UsageError):
        load_prompts("std-50", limit)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no prompts in it"):
        load_prompts(write(tmp_path / "mine.jsonl", ""))
