"""Candidates are ranked by what they accept; equals by what was known before; beaten values are tried no further."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from roles.acceptance.race import Beaten, Runner, beaten_values, beats, close, favourites, ranked, why_not
from roles.acceptance.window import PromptWindow
from tests.unit.acceptance.simulate import RIGHT_K15, prompts_that_differ, windows

WRONG_MASK = (0.620, 0.148, 0.032, 0.003) + (0.0,) * 11
CONFIDENCE = 0.95


def length(one: Runner) -> float:
    found = one.length(CONFIDENCE)
    assert found is not None
    return found.estimate


def measured(rates: Sequence[float], *, seed: int = 1, rounds: int = 8, prompts: int = 7) -> tuple[PromptWindow, ...]:
    rng = np.random.default_rng(seed)
    return tuple(windows(rng, rates, prompts_that_differ(rng, prompts), rounds))


def runner(mask: str, ids: str = "a", rates: Sequence[float] = RIGHT_K15, doubts: int = 0, **more: int) -> Runner:
    return Runner({"mask": mask, "ids": ids}, measured(rates, **more), doubts=doubts)


def test_wrong_mask_is_beaten_within_sixty_rounds_in_nearly_every_race() -> None:
    """56 rounds each of the measured curves (length 2.67 and 1.80), drawn independently."""
    wins = sum(
        beats(runner("70", seed=seed), runner("64", rates=WRONG_MASK, seed=1000 + seed), CONFIDENCE)
        for seed in range(60)
    )
    assert wins >= 44


def test_equals_are_seldom_told_apart() -> None:
    """The false alarms of both tests together stay near their level."""
    wrong = sum(beats(runner("70", seed=seed), runner("64", seed=1000 + seed), CONFIDENCE) for seed in range(100))
    assert wrong <= 8


def test_of_those_that_are_level_the_one_with_the_fewest_doubts_is_first() -> None:
    worse = runner("64", rates=WRONG_MASK)
    longer, shorter = sorted([runner("70", seed=2), runner("71", seed=3)], key=lambda one: -length(one))
    assert not beats(longer, shorter, CONFIDENCE)
    assert ranked([worse, shorter, longer], CONFIDENCE) == [longer, shorter, worse]
    doubtful = replace(longer, doubts=1)
    assert ranked([worse, shorter, doubtful], CONFIDENCE) == [shorter, doubtful, worse]


def test_place_is_shared_by_those_that_neither_rounds_nor_doubts_tell_apart() -> None:
    same, worse = (runner("70"), runner("71")), runner("64", rates=WRONG_MASK)
    assert favourites([worse, *same], CONFIDENCE) == list(same)
    assert favourites([replace(same[0], doubts=1), worse, same[1]], CONFIDENCE) == [same[1]]
    assert favourites([worse, same[0], replace(same[1], failure="died")], CONFIDENCE) == [same[0]]
    assert favourites([replace(worse, failure="died")], CONFIDENCE) == []


def test_no_doubt_outweighs_what_was_measured() -> None:
    right, wrong = runner("70", doubts=100), runner("64", rates=WRONG_MASK)
    assert ranked([wrong, right], CONFIDENCE)[0] is right


def test_failed_and_uncounted_ones_come_last() -> None:
    failed = Runner({"mask": "x", "ids": "a"}, measured(RIGHT_K15), failure="died")
    empty = Runner({"mask": "y", "ids": "a"})
    fine = runner("70")
    assert ranked([failed, empty, fine], CONFIDENCE) == [fine, failed, empty]
    assert beats(fine, failed, CONFIDENCE)
    assert not beats(failed, fine, CONFIDENCE)


def test_value_that_lost_with_all_else_equal_is_tried_no_further() -> None:
    raced = [runner("70"), runner("64", rates=WRONG_MASK)]
    beaten = beaten_values(raced, CONFIDENCE)
    assert beaten == (Beaten("mask", "64", by="70"),)
    assert why_not({"mask": "64", "ids": "b"}, beaten) == beaten[0]
    assert why_not({"mask": "70", "ids": "b"}, beaten) is None
    assert why_not({"mask": "63", "ids": "a"}, beaten) is None


def test_candidates_that_differ_in_two_fields_prove_nothing_about_either() -> None:
    assert beaten_values([runner("70", "a"), runner("64", "b", rates=WRONG_MASK)], CONFIDENCE) == ()


def test_neighbours_that_are_level_are_named() -> None:
    level = [runner("70", seed=2), runner("71", seed=3), runner("64", rates=WRONG_MASK)]
    assert list(close(level, CONFIDENCE)) == [(level[0], level[1])]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.booleans()), max_size=5))
def test_ranking_keeps_all_and_is_led_by_one_that_the_longest_does_not_beat(drawn: list[tuple[int, int, bool]]) -> None:
    """Property: any runners at all, also without counts or failed."""
    rates = [RIGHT_K15, WRONG_MASK, (0.0,) * 5, (1.0,) * 5]
    runners = [
        Runner({"n": str(place)}, measured(rates[kind], prompts=count) if count else (), "died" if failed else None)
        for place, (kind, count, failed) in enumerate(drawn)
    ]
    order = ranked(runners, CONFIDENCE)
    assert sorted(one.choice["n"] for one in order) == sorted(one.choice["n"] for one in runners)
    counted = [one for one in order if one.length(CONFIDENCE)]
    assert order[: len(counted)] == counted
    if counted:
        longest = max(counted, key=length)
        assert not beats(longest, order[0], CONFIDENCE)
