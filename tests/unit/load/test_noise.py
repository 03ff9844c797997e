"""A change within the noise is not called one."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from roles.load.compare import compare
from roles.load.history import Run
from roles.load.table import changes_table
from tests.unit.load.test_compare import BEFORE, row


def requests(factor: float, *, jitter: float, seed: int, count: int = 50) -> list[dict[str, object]]:
    """Prompts of very different length; the same prompts in every run."""
    length = np.random.default_rng(1).uniform(0.5, 4, count)
    noise = np.exp(np.random.default_rng(seed).normal(0, jitter, count))
    return [
        {"prompt": f"p{i}", "ttft_s": 0.2, "latency_s": float(factor * length[i] * noise[i] + 0.2), "tokens": 100}
        for i in range(count)
    ]


def _run(made: list[dict[str, object]]) -> Run:
    seconds = sum(float(str(request["latency_s"])) for request in made)
    speed = 100 * len(made) / seconds
    return replace(BEFORE, summary={"stream_tok_s": speed, "total_tok_s": speed, "requests": made})


def test_the_same_thing_measured_twice_is_about_the_same() -> None:
    found = row(compare(_run(requests(1, jitter=0.1, seed=2)), _run(requests(1, jitter=0.1, seed=3))), "one stream")
    assert found.same
    assert found.better is None
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0 < found.high


@pytest.mark.parametrize(("factor", "better"), [(0.85, True), (1.2, False)])
def test_a_change_beyond_the_spread_is_told(factor: float, better: bool) -> None:
    found = row(
        compare(_run(requests(1, jitter=0.1, seed=2)), _run(requests(factor, jitter=0.1, seed=3))), "one stream"
    )
    assert not found.same
    assert found.better is better


def test_a_sure_change_that_is_smaller_than_runs_differ_is_about_the_same() -> None:
    found = row(compare(_run(requests(1, jitter=0, seed=2)), _run(requests(1.01, jitter=0, seed=2))), "one stream")
    assert found.high is not None
    assert found.high < 0
    assert found.same


def test_without_requests_the_noise_of_runs_is_assumed() -> None:
    before, after = (replace(BEFORE, summary={"total_tok_s": speed}) for speed in (100.0, 101.5))
    found = row(compare(before, after), "all streams")
    assert (found.same, found.low) == (True, None)


def test_few_rounds_do_not_tell_acceptance_lengths_apart() -> None:
    few = replace(
        BEFORE, counts={"rounds": 100, "accepted": 190, "drafted": 500, "per_position": [78, 56, 28, 18, 10], "k": 5}
    )
    many = {
        "rounds": 100_000,
        "accepted": 190_000,
        "drafted": 500_000,
        "per_position": [78_000, 56_000, 28_000, 18_000, 10_000],
    }
    much = {**many, "accepted": 200_000, "per_position": [80_000, 60_000, 30_000, 20_000, 10_000]}
    assert row(compare(BEFORE, few), "acceptance length").same
    sure = compare(replace(BEFORE, counts={**many, "k": 5}), replace(BEFORE, counts={**much, "k": 5}))
    assert row(sure, "acceptance length").better is True


def test_the_table_says_so_in_words() -> None:
    out = StringIO()
    found = compare(_run(requests(1, jitter=0.1, seed=2)), _run(requests(1, jitter=0.1, seed=3)))
    Console(file=out, width=160).print(changes_table(found))
    assert "about the same" in out.getvalue()
    assert "better" not in out.getvalue()
