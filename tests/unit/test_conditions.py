"""Where two measurements differ in what they depend on."""

from roles.conditions import PREVENTING, Conditions, Difference, differences

CONDITIONS = Conditions("vllm 0.33.0", "qwen", "c1f2", 15, "std-50@c1f2", 0.0, False, 1, "H200", "580.65.06", 128)


def _between(before: Conditions, after: Conditions) -> tuple[Difference, ...]:
    return differences(vars(before), vars(after))


def test_differences_name_what_changed_and_what_is_unknown() -> None:
    found = _between(CONDITIONS, Conditions("vllm 0.33.0", "qwen", "d3e4", 15, None, 0.0, False, 1))
    assert [str(one) for one in found] == [
        "drafter: c1f2 -> d3e4",
        "prompts: std-50@c1f2 -> unknown",
        "gpu: H200 -> unknown",
        "driver: 580.65.06 -> unknown",
        "max_tokens: 128 -> unknown",
    ]
    assert [one.name for one in found if one.known] == ["drafter"]


def test_digests_are_shown_by_their_first_digits() -> None:
    (found,) = _between(Conditions(drafter="a" * 64), Conditions(drafter="b" * 64))
    assert str(found) == "drafter: aaaaaaaaaaaa -> bbbbbbbbbbbb"


def test_off_is_a_value_and_not_unknown() -> None:
    (found,) = _between(Conditions(thinking=False, temperature=0.0), Conditions(thinking=True, temperature=0.0))
    assert found == Difference("thinking", False, True)
    assert found.known
    assert found.name in PREVENTING


def test_a_name_that_only_one_side_has_is_unknown_to_the_other() -> None:
    assert [str(one) for one in differences({"k": 5}, {"k": 5, "reach": "tunnel"})] == ["reach: unknown -> tunnel"]
