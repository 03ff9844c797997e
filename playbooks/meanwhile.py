"""Does something small again and again while something large goes on."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from inventory.errors import SpecrailError

_PATIENCE_S = 60


@contextmanager
def again_and_again(what: Callable[[], None], *, first_s: float, every_s: float) -> Iterator[None]:
    """Call `what` from another thread first_s after the context begins, then every_s after it has ended.

    A SpecrailError of it is passed over: what is looked at beside a measurement never ends it.
    """
    over = threading.Event()

    def go_on() -> None:
        wait_s = first_s
        while not over.wait(wait_s):
            with suppress(SpecrailError):
                what()
            wait_s = every_s

    thread = threading.Thread(target=go_on, name="specrail-meanwhile", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=_PATIENCE_S)
