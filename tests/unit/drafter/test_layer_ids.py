"""The formula reproduces what was published, and is not the one that was guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.drafter.known import drafters
from roles.drafter.layer_ids import predicted


@pytest.mark.parametrize(
    ("layers", "ids"),
    [
        (24, (1, 6, 11, 16, 21)),
        (32, (1, 8, 15, 22, 29)),
        (36, (1, 9, 17, 25, 33)),
        (48, (1, 12, 23, 34, 45)),
        (64, (1, 16, 31, 46, 61)),
        (48, (1, 7, 14, 20, 26, 32, 39, 45)),
        (40, (1, 6, 11, 16, 22, 27, 32, 37)),
        (64, (32,)),
    ],
)
def test_published_ids_are_reproduced(layers: int, ids: tuple[int, ...]) -> None:
    assert predicted(layers, len(ids)) == ids


def test_dflash2_does_not_follow_it() -> None:
    (known,) = drafters("z-lab/Qwen3.8-27B-DFlash2")
    assert known.fields["target_layer_ids"] != predicted(64, 5)


@given(st.integers(-5, 2000), st.integers(-5, 2000))
def test_prediction_is_within_the_target_or_absent(layers: int, count: int) -> None:
    """Property: as many ids as asked for, none outside the target, never decreasing."""
    ids = predicted(layers, count)
    if ids is not None:
        assert len(ids) == count
        assert list(ids) == sorted(ids)
        assert min(ids) >= 0
        assert max(ids) < layers
