"""Flags that hold numbers."""

import pytest

from inventory.errors import UsageError
from playbooks.flags import whole_number


def test_a_flag_that_was_not_given_stays_none() -> None:
    assert whole_number("tokens", None) is None


def test_numbers_are_read() -> None:
    assert whole_number("tokens", "5") == 5
    assert whole_number("tokens", "0", least=0) == 0


@pytest.mark.parametrize("text", ["five", "", "-1", "2.5", "0"])
def test_anything_else_is_refused_with_the_flags_name(text: str) -> None:
    with pytest.raises(UsageError, match=r"--tokens wants a whole number"):
        whole_number("tokens", text)
