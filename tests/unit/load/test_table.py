"""What a person sees: whole screens, in a pipe and in colour."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console, RenderableType
from rich.text import Text

from roles.load.compare import compare
from roles.load.doubt import Doubt
from roles.load.slo import Goodput
from roles.load.summary import Spread, Summary
from roles.load.table import bench_table, changes_table, sweep_table
from tests.unit.load.test_compare import AFTER, BEFORE, with_conditions

SUMMARY = Summary(
    requests_ok=48,
    requests_failed={"cut": 2},
    requests_unsent=0,
    wall_s=213.42,
    prompt_tokens=4000,
    output_tokens=12800,
    total_tok_s=60.04,
    stream_tok_s=59.7,
    decode_tok_s=61.3,
    ttft_s=Spread(48, 0.2, 0.19, 0.25, 0.4),
    tpot_s=Spread(48, 0.0163, 0.016, 0.02, 0.03),
    itl_s=Spread(4000, 0.051, 0.051, 0.052, 0.06),
    e2e_s=Spread(48, 4.2, 4.1, 4.4, 5.0),
)


def bench() -> RenderableType:
    return bench_table(
        SUMMARY,
        title="bench · ct129 · release r1",
        subtitle="prompts std-50@ee163bc2, 256 tokens each",
        acceptance_length=2.8,
        acceptance_rate=0.12,
        per_position_rates=[0.72, 0.48, 0.3, 0.18, *[0.01] * 11],
        rounds=4183,
        k=15,
        advice=["positions 4-14 are accepted in under 5 % of rounds: try 4 tokens"],
        doubts=[Doubt("text", "7 answers [loop]", True), Doubt("failed", "2 of 50 requests failed", False)],
    )


def shown(what: RenderableType, *, colour: bool = False, width: int = 100) -> str:
    out = StringIO()
    Console(file=out, force_terminal=colour, width=width, color_system="standard" if colour else None).print(what)
    return out.getvalue()


def lines(what: RenderableType) -> list[str]:
    return [line.rstrip() for line in shown(what).splitlines()]


def test_a_bench_in_a_pipe_is_plain_text() -> None:
    assert lines(bench()) == [
        "bench · ct129 · release r1",
        "  prompts std-50@ee163bc2, 256 tokens each",
        "  48 of 50 requests, 12,800 tokens in 213.4 s, failed: 2 cut",
        "",
        "  tok/s  all streams  one stream  after the first token",
        "                60.0        59.7                   61.3",
        "",
        "           mean   p50   p90   p99",
        "  TTFT ms   200   190   250   400",
        "  TPOT ms  16.3  16.0  20.0  30.0",
        "  ITL ms   51.0  51.0  52.0  60.0",
        "  E2E s    4.20  4.10  4.40  5.00",
        "",
        "  acceptance length  2.80 tokens a round (k=15, 4,183 rounds, 12.0 % of drafted tokens)",
        "  per position       0.72 0.48 0.30 0.18 0.01 0.01 0.01 0.01 0.01 0.01 0.01 0.01 0.01 0.01 0.01",
        "",
        "  advice: positions 4-14 are accepted in under 5 % of rounds: try 4 tokens",
        "  doubt: 7 answers [loop]",
        "  note: 2 of 50 requests failed",
    ]


def test_where_load_came_from_what_kept_the_limits_and_what_was_busy_are_told() -> None:
    found = Goodput("ttft <= 500 ms, tpot <= 30 ms", met=40, sent=50, req_s=0.1874, missed={"ttft": 8, "tpot": 0})
    limited = replace(SUMMARY, goodput=found, late_s=Spread(50, 0.0004, 0.0003, 0.0009, 0.002))
    shown = lines(
        bench_table(
            limited, title="t", where="from the host itself", engine="2.0 running (at most 3)", gpus="97 % busy"
        )
    )
    assert shown[1] == "  load from the host itself"
    assert "  goodput  0.19 requests/s: 40 of 50 (80 %) kept ttft <= 500 ms, tpot <= 30 ms; 8 missed ttft" in shown
    assert "  sent late ms  0.40  0.30  0.90  2.00" in shown
    assert shown[-2:] == ["  engine  2.0 running (at most 3)", "  GPUs    97 % busy"]


def test_a_sweep_says_what_its_load_counts_and_what_kept_the_limits() -> None:
    good = replace(SUMMARY, goodput=Goodput("e2e <= 5 s", met=1, sent=2, req_s=0.5, missed={"e2e": 1}))
    shown = lines(sweep_table([(0.5, good, 2.8), (2, SUMMARY, None)], title="t", load="requests/s"))
    assert shown[2].split() == [
        "requests/s",
        "all",
        "tok/s",
        "one",
        "tok/s",
        "TTFT",
        "p50",
        "ms",
        "TPOT",
        "mean",
        "ms",
        "length",
        "goodput/s",
    ]
    assert shown[3].split() == ["0.5", "60.0", "59.7", "190", "16.3", "2.80", "0.50"]
    assert shown[4].split() == ["2", "60.0", "59.7", "190", "16.3", "-", "-"]


def test_changes_in_a_pipe_are_plain_text() -> None:
    at_three = {"rounds": 100, "accepted": 190, "drafted": 300, "per_position": [85, 65, 40], "k": 3}
    assert lines(changes_table(compare(BEFORE, replace(with_conditions(AFTER, k=3), counts=at_three)))) == [
        "against r1, bench of 2026-11-29 12:00 UTC",
        "  differs: k: 5 -> 3",
        "",
        "                                  before   now                 change",
        "  all streams tok/s                 40.0  60.0         better +50.0 %",
        "  TTFT p50 ms                        200   300          worse +50.0 %",
        "  TPOT mean ms                      20.0  20.0  about the same +0.0 %",
        "  acceptance length tokens/round    3.00  2.90                      -",
        "  draft acceptance rate             0.40  0.63                      -",
        "",
        "  per position before  0.80 0.60 0.30",
        "               now     0.85 0.65 0.40",
        "  note: acceptance length, draft acceptance rate: not comparable at another k (5 -> 3)",
    ]


def test_refused_numbers_have_no_change_beside_them() -> None:
    text = "\n".join(lines(changes_table(compare(BEFORE, with_conditions(AFTER, prompts="other")))))
    assert "not comparable: other work: prompts: std-50@1 -> other" in text
    assert "%" not in text
    assert "better" not in text


@pytest.mark.parametrize("what", [bench(), changes_table(compare(BEFORE, AFTER))], ids=["bench", "changes"])
def test_colour_says_nothing_that_the_words_do_not(what: RenderableType) -> None:
    coloured = shown(what, colour=True)
    assert "\x1b[" in coloured
    assert Text.from_ansi(coloured).plain.split() == shown(what).split()
    assert "\x1b" not in shown(what)


def test_a_narrow_terminal_loses_no_words() -> None:
    assert shown(bench(), width=60).split() == shown(bench()).split()


def test_a_run_in_which_nothing_came_is_shown() -> None:
    empty = Summary(0, {"unreachable": 5}, 2, 0.1, None, None, None, None, None, None, None, None, None)
    assert lines(bench_table(empty, title="bench")) == [
        "bench",
        "  0 of 7 requests, an unknown number of tokens in 0.1 s, failed: 5 unreachable",
        "",
        "  tok/s  all streams  one stream  after the first token",
        "                   -           -                      -",
    ]


def test_what_makes_a_comparison_doubtful_is_said_before_what_differs() -> None:
    shown_lines = lines(changes_table(compare(with_conditions(BEFORE, gpu="H200"), AFTER)))
    care, differs = (shown_lines.index(line) for line in shown_lines if "gpu: H200 -> A6000" in line)
    assert shown_lines[care] == "  with care: other hardware: gpu: H200 -> A6000"
    assert shown_lines[differs] == "  differs: gpu: H200 -> A6000"
    assert care < differs
