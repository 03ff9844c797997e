"""How often each test of acceptance raises a false alarm and how often it sees a real loss, by simulation.

    python -m tests.bench.calibration [RUNS]

The unit tests hold the same figures with fewer runs; this prints them with their standard errors.
"""

import sys
from collections.abc import Callable
from math import sqrt

import numpy as np

from roles.acceptance.changes import CERTAIN, changes
from roles.acceptance.collapse import FALSE_ALARMS, healthy_acceptance, look
from roles.acceptance.series import Seen
from roles.acceptance.statistics import paired
from roles.acceptance.unpaired import unpaired
from tests.unit.acceptance.simulate import (
    ALL_WRONG_C1,
    RIGHT_K5,
    RIGHT_K15,
    chances,
    prompts_that_differ,
    window_of,
    windows,
)

_NOMINAL = 0.05
_SEVEN_PERCENT = 1 - 0.07 * (1 + sum(RIGHT_K5)) / sum(RIGHT_K5)
_UNDER_ONE_PERCENT = (0.11, 0.008, 0.002) + (0.0,) * 12

Rng = np.random.Generator


def prompts_of_both(rng: Rng, prompts: int, rounds: int, factor: float) -> bool:
    """Whether the comparison by prompt calls two runs different."""
    ease = prompts_that_differ(rng, prompts)
    found = paired(windows(rng, RIGHT_K5, ease, rounds, factor), windows(rng, RIGHT_K5, ease, rounds), 1 - _NOMINAL)
    return found is not None and found.p_value < _NOMINAL


def served(rng: Rng, requests: int, lasting: int, rounds: int, factor: float = 1.0) -> list[Seen]:
    """A log of requests that differ by 12 % in what they accept, and last for so many windows."""
    ease = np.repeat(prompts_that_differ(rng, requests), lasting)
    return [Seen(prompt.window, i) for i, prompt in enumerate(windows(rng, RIGHT_K5, ease, rounds, factor))]


def other_requests(rng: Rng, requests: int, lasting: int, rounds: int, factor: float) -> bool:
    """Whether the comparison of two logs calls their servers different."""
    before, after = served(rng, requests, lasting, rounds), served(rng, requests, lasting, rounds, factor)
    found = unpaired(before, after, 1 - _NOMINAL)
    return found is not None and found.change.p_value < _NOMINAL


def history(rng: Rng, requests: int, lasting: int, rounds: int, factor: float) -> bool:
    """Whether a history in which the second half accepts `factor` of the first one's shows a change."""
    half = requests // 2
    after = served(rng, requests - half, lasting, rounds, factor)
    seen = [*served(rng, half, lasting, rounds), *after]
    return bool(changes([Seen(one.window, i) for i, one in enumerate(seen)]))


def called_collapsed(rng: Rng, rates: tuple[float, ...], rounds: int, every: int) -> bool:
    """Whether the early test calls a drafter collapsed within so many rounds, without a baseline."""
    healthy = healthy_acceptance(1.5, None)
    drawn = rng.multinomial(every, chances(np.array(rates)), size=rounds // every).cumsum(axis=0)
    return any(look(window_of(so_far), healthy).state == "collapsed" for so_far in drawn)


def main(runs: int) -> None:
    """Print a line a test."""
    sys.stdout.write(f"{'':<62}{'found':>8}{'+-':>7}   of {runs} runs\n")
    told: list[tuple[str, Callable[[Rng], bool]]] = [
        (f"by prompt, 20 x 50 rounds, equal (nominal {_NOMINAL})", lambda r: prompts_of_both(r, 20, 50, 1)),
        (f"by prompt, 50 x 50 rounds, equal (nominal {_NOMINAL})", lambda r: prompts_of_both(r, 50, 50, 1)),
        ("by prompt, 50 x 50 rounds, 7 % less", lambda r: prompts_of_both(r, 50, 50, _SEVEN_PERCENT)),
        (f"two logs, 50 requests, equal (nominal {_NOMINAL})", lambda r: other_requests(r, 50, 1, 50, 1)),
        ("two logs, 30 requests of 2 windows, equal", lambda r: other_requests(r, 30, 2, 195, 1)),
        ("two logs, 25 requests of 3 windows, equal", lambda r: other_requests(r, 25, 3, 195, 1)),
        ("two logs, 1 line each, equal", lambda r: other_requests(r, 1, 1, 195, 1)),
        ("two logs, 80 requests, 7 % less", lambda r: other_requests(r, 80, 1, 50, _SEVEN_PERCENT)),
        (f"history, 60 windows, steady (nominal {CERTAIN})", lambda r: history(r, 60, 1, 195, 1)),
        ("history, 30 requests of 2 windows, steady", lambda r: history(r, 30, 2, 195, 1)),
        ("history, 20 requests of 3 windows, steady", lambda r: history(r, 20, 3, 195, 1)),
        ("history, 100 windows, a step of 7 %", lambda r: history(r, 100, 1, 195, _SEVEN_PERCENT)),
        (
            f"collapse, right drafter, 160 rounds (bound {FALSE_ALARMS})",
            lambda r: called_collapsed(r, RIGHT_K15, 160, 8),
        ),
        ("collapse, 0.8 % accepted, within 20 rounds", lambda r: called_collapsed(r, _UNDER_ONE_PERCENT, 20, 4)),
        ("collapse, all fields wrong, within 56 rounds", lambda r: called_collapsed(r, ALL_WRONG_C1, 56, 8)),
    ]
    for number, (name, found) in enumerate(told):
        rng = np.random.default_rng(100 + number)
        share = sum(found(rng) for _ in range(runs)) / runs
        sys.stdout.write(f"{name:<62}{share:>8.4f}{sqrt(share * (1 - share) / runs):>7.4f}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
