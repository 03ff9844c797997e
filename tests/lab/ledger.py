"""What a tier of tests costs: time, what the network cards received, and its longest parts, printed at the tier's end.

`./run test lxc` and `./run test engine` say in the environment when they began, so that what they install counts too.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TIER, NET = "SPECRAIL_TIER", "SPECRAIL_TIER_NET"
"""The tier's name and the seconds since 1970 when it began; /proc/net/dev at that time."""


class Ledger:
    """Parts of a tier that took long, in the order in which they ended."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, float]] = []

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time the block; what fails in it is not noted."""
        began = time.monotonic()
        yield
        self.parts.append((name, time.monotonic() - began))


LEDGER = Ledger()


def received_bytes(net: str) -> int:
    """Sum over the cards (en*, eth*, wl*; not bridges and their like) of /proc/net/dev: two lines of heads, then NAME: BYTES ..."""
    rows = (line.partition(":")[::2] for line in net.splitlines()[2:])
    return sum(int(numbers.split()[0]) for name, numbers in rows if name.strip().startswith(("e", "w")))


def lines(tier: str, net: str, now_s: float, net_now: str, ledger: Ledger) -> list[str]:
    """What is printed. tier, net: the variables' values."""
    name, since_s = tier.split()
    megabytes = (received_bytes(net_now) - received_bytes(net)) / 1e6
    total = f"{name} tier: {now_s - float(since_s):.0f} s; this machine received {megabytes:.0f} MB meanwhile"
    return [total, *(f"{seconds:7.1f} s  {part}" for part, seconds in ledger.parts)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print it. A conftest.py that imports this function has the hook."""
    if tier := os.environ.get(TIER):
        terminalreporter.section("what it cost")
        for line in lines(tier, os.environ[NET], time.time(), Path("/proc/net/dev").read_text(), LEDGER):
            terminalreporter.write_line(line)
