"""Which release a rollback goes to."""

import pytest

from inventory.errors import UsageError
from playbooks.rollback import choose
from tests.unit.release.build import facts, release

A, B, C, D = (f"2026-11-{day}T10-00-00Z-{letter * 4}" for day, letter in ((26, "a"), (27, "b"), (28, "c"), (29, "d")))


def test_it_is_the_last_one_before_the_promoted_that_passed() -> None:
    there = facts(release(A, "pass"), release(B, "fail"), release(C, "pass"), release(D, "fail"), current=C, promoted=C)
    assert choose(there, None, "ct129").id == A


def test_something_unpromoted_in_service_goes_back_to_the_promoted() -> None:
    there = facts(release(A, "pass"), release(B, "inconclusive"), current=B, promoted=A)
    assert choose(there, None, "ct129").id == A


def test_twice_does_not_go_forwards_again() -> None:
    there = facts(release(A, "pass"), release(B, "pass"), current=A, promoted=A)
    with pytest.raises(UsageError, match="no earlier release that passed"):
        choose(there, None, "ct129")


def test_to_takes_any_release_that_is_there() -> None:
    there = facts(release(A, "fail"), release(B, "pass"), current=B, promoted=B)
    assert choose(there, A, "ct129").id == A


def test_a_short_name_is_answered_with_the_full_one() -> None:
    there = facts(release(A, "pass"), release(B, "pass"), current=B, promoted=B)
    with pytest.raises(UsageError) as caught:
        choose(there, "aaaa", "ct129")
    assert caught.value.tries == (f"invoke rollback --host ct129 --to {A}",)


def test_an_empty_host_has_nothing_to_go_to() -> None:
    with pytest.raises(UsageError):
        choose(facts(), None, "ct129")
