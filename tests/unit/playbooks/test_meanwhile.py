"""Small things beside a large one."""

import threading

from inventory.errors import UnreachableError
from playbooks.meanwhile import again_and_again


def test_it_goes_on_until_the_large_thing_is_over_whatever_fails() -> None:
    """The first look fails; the large thing ends when there was a third one: without further looks it never would."""
    seen: list[int] = []
    third = threading.Event()

    def look() -> None:
        seen.append(len(seen))
        if len(seen) == 1:
            raise UnreachableError("gone for a moment")
        if len(seen) == 3:
            third.set()

    with again_and_again(look, first_s=0, every_s=0.001):
        assert third.wait(60)
    after = len(seen)
    assert after >= 3
    assert not [thread for thread in threading.enumerate() if thread.name == "specrail-meanwhile"]


def test_what_ends_at_once_is_not_held_up() -> None:
    with again_and_again(lambda: None, first_s=3600, every_s=3600):
        pass
