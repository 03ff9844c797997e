"""Limits for a request, and how many keep them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import UsageError
from roles.load.arrivals import Arrivals
from roles.load.slo import Goodput, Slo, goodput
from roles.load.summary import Summary, summarise
from tests.unit.load.samples import answer, load_result


@pytest.mark.parametrize(
    ("text", "slo"),
    [
        ("ttft:500ms,tpot:30ms,e2e:10s", Slo(0.5, 0.03, 10)),
        ("e2e:1.5s", Slo(e2e_s=1.5)),
        (" tpot:12.5ms , ttft:2s ", Slo(2, 0.0125)),
    ],
)
def test_limits_are_read(text: str, slo: Slo) -> None:
    assert Slo.parse(text) == slo


@pytest.mark.parametrize(
    "text",
    ["", "ttft", "ttft:500", "itl:5ms", "ttft:0ms", "ttft:1ms,ttft:2ms", "ttft:-1s", "ttft:1ms;e2e:1s", "ttft:1m"],
)
def test_what_is_no_limit_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="no limit") as refused:
        Slo.parse(text)
    assert "ttft:500ms,tpot:30ms,e2e:10s" in str(refused.value)


@given(st.builds(Slo, *([st.none() | st.integers(1, 10**5).map(lambda ms: ms / 1e3)] * 2), st.integers(1, 999)))
def test_what_is_said_can_be_read_again(slo: Slo) -> None:
    """Limits in whole milliseconds: their words, without signs and spaces, are the flag."""
    assert Slo.parse(str(slo).replace(" <= ", ":").replace(" ", "")) == slo


@pytest.mark.parametrize(
    ("one", "missed"),
    [
        ({"ttft_s": 0.5, "latency_s": 2.48, "tokens": 100}, ()),  # TPOT 20 ms
        ({"ttft_s": 0.51, "latency_s": 2.48, "tokens": 100}, ("ttft",)),
        ({"ttft_s": 0.5, "latency_s": 4.0, "tokens": 100}, ("tpot",)),
        ({"ttft_s": 0.5, "latency_s": 11.0, "tokens": 1000}, ("e2e",)),
        ({"ttft_s": 0.5, "latency_s": 0.5, "tokens": 1}, ()),
        ({"ttft_s": None, "latency_s": 1.0, "tokens": 100}, ("ttft", "tpot")),
        ({"ttft_s": 0.5, "latency_s": 2.0, "tokens": None}, ("tpot",)),
        ({"ttft_s": 0.5, "latency_s": 2.0, "error": "cut"}, ("ttft", "tpot", "e2e")),
    ],
)
def test_a_request_is_good_when_it_keeps_every_limit(one: dict[str, Any], missed: tuple[str, ...]) -> None:
    (sample,) = load_result([answer(**one)]).samples
    assert Slo(0.5, 0.03, 10).missed(sample) == missed


def test_goodput_counts_what_kept_the_limits_over_the_whole_run() -> None:
    run = load_result(
        [answer(ttft_s=0.2), answer(ttft_s=0.2), answer(ttft_s=0.7), answer(error="timeout")], wall_s=8, unsent=2
    )
    found = goodput(run, Slo(ttft_s=0.5))
    assert found == Goodput("ttft <= 500 ms", met=2, sent=4, req_s=0.25, missed={"ttft": 2})
    assert found.share == 0.5


def test_a_request_that_left_late_had_less_time_left() -> None:
    run = load_result([answer(ttft_s=0.4)], arrivals=Arrivals(1), late_s=0.2)
    assert goodput(run, Slo(ttft_s=0.5)).met == 0


def test_a_summary_carries_it_through_json() -> None:
    summary = summarise(load_result([answer()]), Slo(ttft_s=0.5))
    assert summary.goodput is not None
    assert Summary.from_json(json.loads(json.dumps(summary.as_json()))) == summary
