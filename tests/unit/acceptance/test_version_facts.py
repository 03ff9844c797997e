"""What is known of an engine's version is named, and only what may be behind what was found."""

import pytest

from roles.acceptance.version_facts import facts


@pytest.mark.parametrize(
    ("version", "said", "unsaid"),
    [
        ("0.19.1", ["has no DFlash"], ["layer_types"]),
        ("0.21.0", ["layers one too low", "ignores layer_types", "compile cache"], ["refuses", "V2 runner only"]),
        ("0.22.0", ["ignores layer_types"], ["one too low"]),
        ("0.25.0", ["refuses drafters that mix"], ["ignores layer_types", "evicted"]),
        ("0.26.0", ["evicted", "V2 runner only"], ["refuses", "zero lm_head"]),
        ("0.28.0", ["draft_sample_method"], ["mask_token_id"]),
        ("0.32.0", ["max_position_embeddings"], ["evicted"]),
        ("0.33.0+cu130", ["compile cache", "V2 runner only"], ["max_position_embeddings"]),
    ],
)
def test_a_release_has_the_facts_of_its_time(version: str, said: list[str], unsaid: list[str]) -> None:
    told = " ".join(facts(version, "dflash"))
    assert [words for words in said if words not in told] == []
    assert [words for words in unsaid if words in told] == []


def test_a_span_says_which_facts_hold_for_a_part_of_it() -> None:
    told = facts("0.20.0-0.23.0", "dflash")
    assert any("0.20.0-0.23.0 (some of them) reads the target's layers" in fact for fact in told)
    assert any("0.20.0-0.23.0 ignores layer_types" in fact for fact in told)


def test_a_build_of_a_pull_request_may_have_mended_it() -> None:
    assert "its own changes may have mended" in facts("0.20.1.dev1+pr40898@2dc6f5a3d184", "dflash")[-1]
    assert not any("mended" in fact for fact in facts("0.20.1", "dflash"))


def test_facts_of_another_method_are_left_out_and_of_an_unknown_one_named() -> None:
    assert facts("0.23.0", "mtp") == ()
    assert all("with dflash" in fact for fact in facts("0.23.0", None))


def test_only_what_may_be_behind_the_causes_is_told() -> None:
    (only,) = facts("0.23.0", "dflash", ["sliding-layers-as-full"])
    assert "ignores layer_types" in only
    assert facts("0.17.1", "eagle3", ["slow-decay"]) == (
        "vLLM 0.17.1 was reported to slide from 3.07 to 2.80 over hours (#41838)",
    )


@pytest.mark.parametrize("version", ["", "main", "pr:40898@2dc6", "1"])
def test_what_is_no_version_has_no_facts(version: str) -> None:
    assert facts(version, None) == ()
