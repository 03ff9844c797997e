"""Watching a server come up: phases as they are reached, and the end of the wait."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from inventory.errors import DeadlineExceeded, ServerError
from roles.server.health import Health, wrong_model
from roles.server.phases import Startup, read
from roles.server.signatures import explain

Watch = Callable[[int, int], tuple[str, int]]
"""(offset, seconds) -> (text, end): the log after an offset in bytes, waiting at most so long; where the text ends."""


@dataclass(frozen=True)
class Started:
    """A server that answers /health and lists the model. log_lines: what it printed on the way."""

    health: Health
    log_lines: tuple[str, ...]
    log_offset: int
    seconds: float


def wait_until_serving(
    *,
    watch: Watch,
    probe: Callable[[], Health],
    offset: int,
    model: str,
    host: str,
    timeout_s: float,
    on_phase: Callable[[str, float], None],
    clock: Callable[[], float] = time.monotonic,
) -> Started:
    """Follow the log from `offset` (bytes) until the server serves `model`.

    on_phase gets each phase as it is reached, and the seconds since the start. Raises ServerError as soon as a run of
    the server is over (with the root cause from its log), when it serves something else, or after timeout_s.
    """
    began = clock()
    startup = Startup()
    lines: list[str] = []
    rest = ""
    shown: str | None = None
    while True:
        text, offset = watch(offset, 1)
        *whole, rest = (rest + text).split("\n")
        lines += whole
        startup = read(whole, startup)
        if startup.phase and startup.phase != shown:
            shown = startup.phase
            on_phase(shown, clock() - began)
        if startup.obstacle:
            raise ServerError(
                startup.obstacle,
                why=["Two engines can share a port without an error; each would get half of the requests."],
                tries=["ss -ltnp   (on the host) shows which process it is; end it"],
            )
        if startup.died:
            raise explain(lines, fallback=_how_it_ended(startup), host=host)
        health = probe()
        if health.serves:
            if (why := wrong_model(health, model)) is None:
                return Started(health, tuple(lines), offset, clock() - began)
            raise ServerError(
                f"another server answers on the port: {why}",
                why=["An older process may hold the port; the new one cannot have bound it."],
                tries=["ss -ltnp   (on the host)"],
            )
        if clock() - began > timeout_s:
            raise DeadlineExceeded(
                f"the server did not serve within {timeout_s:.0f} s (phase: {startup.phase or 'none seen'})",
                why=[f"| {line[:200]}" for line in lines[-5:]],
                tries=["server.start_timeout_s: more (a first start compiles)"],
                log=f"invoke logs --host {host}",
            )


def _how_it_ended(startup: Startup) -> str:
    status = f" with status {startup.ended[-1]}" if startup.ended else ""
    return f"the server ended{status} while it started (phase: {startup.phase or 'none seen'})"
