"""The one place that waits: ask again, less and less often, until there is an answer or the time is up."""

import time
from collections.abc import Callable
from typing import TypeVar

from inventory.errors import DeadlineExceeded

T = TypeVar("T")


class _NoAnswerError(Exception):
    """The probe has no answer yet."""


def wait_for(
    probe: Callable[[], T | None],
    *,
    what: str,
    timeout_s: float,
    interval_s: float = 0.25,
    max_interval_s: float = 5,
    on_wait: Callable[[float], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """The first answer of `probe` that is not None.

    what:       what is waited for, as a message calls it: "ct129 to answer over ssh"
    interval_s: the first pause; each next one is half as long again, up to max_interval_s and never past the deadline
    on_wait:    told before each pause how long it has been waiting, in seconds
    Asks at least once, and once more at the deadline. Raises DeadlineExceeded; what `probe` raises is not caught.
    """
    import tenacity  # 0.07 s that only those who wait should pay

    began = clock()

    def pause(state: tenacity.RetryCallState) -> float:
        wanted = interval_s * 1.5 ** min(state.attempt_number - 1, 40)
        return max(0.0, min(wanted, max_interval_s, began + timeout_s - clock()))

    def before_sleep(_state: tenacity.RetryCallState) -> None:
        if on_wait:
            on_wait(clock() - began)

    def ask() -> T:
        answer = probe()
        if answer is None:
            raise _NoAnswerError
        return answer

    def give_up(_state: tenacity.RetryCallState) -> T:
        raise DeadlineExceeded(f"waited {timeout_s:g} s for {what}")

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(_NoAnswerError),
        wait=pause,
        stop=lambda _state: clock() - began >= timeout_s,
        before_sleep=before_sleep,
        retry_error_callback=give_up,
        sleep=sleep,
    )
    return retrying(ask)
