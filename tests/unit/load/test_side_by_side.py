"""Several runs side by side: each against the right one, and engines only in what they share."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from roles.load.engines import Measure
from roles.load.history import Run
from roles.load.side_by_side import SideBySide, side_by_side, sweeps
from roles.load.side_table import side_table
from tests.unit.load.test_compare import AFTER, BEFORE, with_conditions

VLLM = replace(
    with_conditions(BEFORE, engine="vllm 0.33.0", method="dflash", tool="specrail"),
    summary={**(BEFORE.summary or {}), "stream_tok_s": 61.3, "tpot_s": {"mean": 0.0163}, "itl_s": {"mean": 0.0513}},
)
SGLANG = replace(
    with_conditions(VLLM, engine="sglang 0.5.23", method="mtp", k=3, draft_tokens=4, steps=3, topk=1),
    summary={**(VLLM.summary or {}), "stream_tok_s": 73.5, "acceptance_length": 2.7, "tpot_s": {"mean": 0.0136}},
    counts=None,
)


def at_load(run: Run, streams: int) -> Run:
    return with_conditions(replace(run, summary={"total_tok_s": 40.0 * streams}), concurrency=streams)


def measure(found: SideBySide, name: str) -> Measure:
    (one,) = (measure for measure in found.engines if measure.name == name)
    return one


def screen(found: SideBySide) -> str:
    out = StringIO()
    Console(file=out, width=120).print(side_table(found, title="t"))
    return out.getvalue()


def test_each_later_run_is_compared_with_the_first() -> None:
    found = side_by_side([BEFORE, AFTER, replace(AFTER, summary={"total_tok_s": 20.0})])
    assert [(one.place, one.reference) for one in found.against] == [(2, 1), (3, 1)]
    total = found.numbers[0]
    assert total.values == (40.0, 60.0, 20.0)
    assert [row and row.change for row in total.changes] == [None, pytest.approx(0.5), pytest.approx(-0.5)]


def test_of_two_sweeps_each_load_is_compared_with_its_own() -> None:
    slow, fast = ([at_load(run, streams) for streams in (1, 4, 8)] for run in (BEFORE, with_conditions(AFTER, k=3)))
    found = side_by_side([*slow, *fast])
    pairs = {one.place: one.reference for one in found.against}
    assert (pairs[4], pairs[5], pairs[6]) == (1, 2, 3)
    assert all(not one.comparison.refusals for one in found.against if one.place > 3)


def test_the_loads_of_one_sweep_are_not_called_incomparable() -> None:
    assert side_by_side([at_load(BEFORE, streams) for streams in (1, 4, 8)]).against == ()
    assert "not comparable" in screen(side_by_side([at_load(BEFORE, streams) for streams in (1, 4)]))


def test_what_differs_comes_before_what_only_some_know() -> None:
    found = side_by_side([with_conditions(BEFORE, reach="tunnel"), with_conditions(AFTER, k=3)])
    names = [one.name for one in found.conditions]
    assert names.index("k") < names.index("reach") < names.index("engine")


def test_goodput_and_whatever_the_engine_did_is_shown() -> None:
    engine = {"preemptions": 3, "kv_usage": {"mean": 0.5, "peak": 0.9}, "queue_s": 0.012}
    run = replace(BEFORE, summary={"engine": engine, "goodput": {"met": 7, "missed": {"ttft": 3}}})
    assert dict(side_by_side([run, run]).beside) == {
        "requests that kept the limits": ("7", "7"),
        "goodput missed ttft": ("3", "3"),
        "preemptions": ("3", "3"),
        "KV cache full on average, %": ("50.0", "50.0"),
        "KV cache full at most, %": ("90.0", "90.0"),
        "queued, ms": ("12.0", "12.0"),
    }


def test_one_engine_and_method_needs_no_table_across_engines() -> None:
    assert side_by_side([BEFORE, AFTER]).engines == ()


def test_a_method_that_one_run_does_not_know_is_no_other_method() -> None:
    assert side_by_side([BEFORE, with_conditions(AFTER, method="dflash")]).engines == ()


def test_across_engines_lengths_compare_with_care_shares_and_event_gaps_never() -> None:
    found = side_by_side([VLLM, SGLANG])
    drafted, length, share, gap = (
        measure(found, name) for name in ("drafted a round", "tokens a round", "accepted of drafted", "ITL mean, ms")
    )
    assert drafted.cells == ("5", "3")
    assert "one more" in drafted.why
    assert length.cells == ("3.00", "2.70")
    assert length.comparable == "with care"
    assert "bonus" in length.why
    assert share.cells == ("40.0", "56.7")
    assert share.comparable == "no"
    assert gap.comparable == "no"


def test_across_engines_the_same_work_has_comparable_speed_and_a_price_a_round() -> None:
    found = side_by_side([VLLM, SGLANG])
    assert measure(found, "one stream, tok/s").comparable == "yes"
    assert measure(found, "ms a round").cells == ("48.9", "36.7")
    assert "quantization" in found.untold
    assert "gpu" not in found.untold


def test_across_engines_other_prompts_leave_nothing_to_compare() -> None:
    found = side_by_side([VLLM, with_conditions(SGLANG, prompts="others")])
    assert {one.comparable for one in found.engines if one.comparable} == {"no"}
    assert "prompts: std-50@1 -> others" in measure(found, "one stream, tok/s").why


def test_a_tree_has_nodes_and_no_number_of_tokens() -> None:
    tree = with_conditions(SGLANG, k=None, topk=4, draft_tokens=8, steps=5, method="eagle3")
    found = side_by_side([VLLM, tree])
    assert measure(found, "drafted a round").cells[1] == "7 nodes, 5 deep"
    assert measure(found, "drafting").cells[1] == "eagle3 tree of 4 branches"
    assert "tree" in measure(found, "drafted a round").why


def test_the_screen_says_who_is_who_and_whether_it_may_be_said() -> None:
    lines = screen(side_by_side([VLLM, SGLANG])).splitlines()
    assert lines[1].split("   ") == ["  1: vllm dflash k=5 c=1", "run 1, bench of 2026-11-29 12:00 on ct129, r1"]
    assert "  2 against 1: comparable" in lines
    (speed,) = (line for line in lines if line.startswith("  one stream tok/s"))
    assert "better +19.9 %" in speed
    assert any(line.startswith("  accepted of drafted") and line.endswith(" no") for line in lines)
    assert any(line.startswith("  not every run says: quantization") for line in lines)


def test_programs_get_the_same_without_single_requests() -> None:
    run = replace(VLLM, summary={**(VLLM.summary or {}), "requests": [{"prompt": "a"}]})
    document = json.loads(json.dumps(side_by_side([run, SGLANG]).as_json(), allow_nan=False))
    assert "requests" not in document["runs"][0]["summary"]
    assert document["comparisons"][0]["verdict"] == "yes"
    assert document["conditions"]["k"] == {"values": [5, 3], "differs": True}


def test_kinds_of_prompts_have_speeds_of_their_own() -> None:
    requests = [
        {"prompt": "a", "kind": "code", "tokens": 100, "latency_s": 1.0},
        {"prompt": "b", "kind": "code", "tokens": 20, "latency_s": 1.0},
        {"prompt": "c", "kind": "prose", "tokens": 30, "latency_s": 1.0},
    ]
    run = replace(BEFORE, summary={"requests": requests})
    assert side_by_side([run, BEFORE]).kinds == (("code", ("60.0", "-")), ("prose", ("30.0", "-")))
    assert side_by_side([replace(run, summary={"requests": requests[:2]})]).kinds == ()


def test_rates_are_a_sweep_as_streams_are() -> None:
    runs = [with_conditions(at_load(BEFORE, 1), rate=rate, load="open loop") for rate in (0.5, 1, 2)]
    found = side_by_side(runs)
    assert found.against == ()
    assert found.names[0] == "1: vllm k=5 r=0.5"
    (loads,) = sweeps(found).values()
    assert [(one.amount, one.sign) for one in loads] == [(0.5, "r"), (1, "r"), (2, "r")]
