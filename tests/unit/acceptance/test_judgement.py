"""Logs that nobody arranged get a verdict, alone and against another one, and the likely cause is named."""

import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.acceptance.against import compare
from roles.acceptance.judgement import Judgement, judge
from roles.acceptance.judgement_text import as_text
from roles.acceptance.loglines import read
from tests.unit.acceptance.printed_logs import log
from tests.unit.acceptance.simulate import ALL_WRONG_C1, FIELD_REPORT_K5, RIGHT_K15
from tests.unit.acceptance.test_loglines import printed

LENGTH_319 = (0.74, 0.53, 0.36, 0.22, 0.13, 0.08, 0.05, 0.03, 0.02, 0.01, 0.01, 0.005, 0.003, 0.001, 0.001)
FIELD_REPORT_K15 = (0.72, 0.48, 0.30, 0.18, 0.05, 0.03, 0.02, 0.01, 0.005, 0.003, 0.001, 0.0, 0.0, 0.0, 0.0)


def judged(text: bytes, label: str = "serve.log") -> Judgement:
    return judge(read(text.splitlines()), label=label, host="ct129")


def ids(judgement: Judgement) -> list[str]:
    return [cause.id for cause in judgement.causes]


def test_a_healthy_log_passes_without_a_cause() -> None:
    found = judged(log(RIGHT_K15))
    assert (found.outcome, found.causes, found.changes) == ("pass", (), ())


def test_the_field_reports_collapse_fails_and_its_shape_is_named() -> None:
    found = judged(log(ALL_WRONG_C1, windows=2, rounds=20, version="0.23.0"))
    assert found.outcome == "fail"
    assert ids(found)[0] == "several-fields-wrong"
    assert any("ignores layer_types" in fact for fact in found.version_facts)


def test_less_than_one_percent_is_called_within_twenty_rounds() -> None:
    """The field report's 0.8 %: an acceptance length of 1.12 at k=15."""
    found = judged(printed(20, [2, *[0] * 14]).encode())
    assert found.summary.window.acceptance_rate == pytest.approx(0.0067, abs=1e-4)
    assert found.outcome == "fail"
    assert "collapsed" in found.reasons[0]


def test_an_upgrade_that_costs_a_sixth_fails_and_the_version_is_blamed() -> None:
    """Public report: 0.27.1 -> 0.28.0 took 3.19 to 2.66 at k=15, reproducibly."""
    before, after = (
        judged(log(LENGTH_319), "before"),
        judged(log(LENGTH_319, factor=1.66 / 2.19, version="0.28.0"), "after"),
    )
    found = compare(before, after, host="ct129")
    assert found.outcome == "fail"
    assert ids(found)[0] == "engine-changed"
    assert "0.27.1" in found.causes[0].cause
    assert "0.28.0" in found.causes[0].cause
    assert found.causes[0].next == "invoke rollback --host ct129"
    assert any("3.19 to 2.66" in fact for fact in found.version_facts)


def test_the_same_upgrade_within_one_log_is_a_step_that_fails() -> None:
    later = datetime(2026, 5, 9, 13, 0, 0)
    found = judged(log(LENGTH_319) + log(LENGTH_319, factor=1.66 / 2.19, version="0.28.0", begin=later, seed=2))
    assert found.outcome == "fail"
    assert [change.kind for change in found.changes] == ["step"]
    assert ids(found)[0] == "engine-changed"
    assert "0.27.1 became 0.28.0" in found.reasons[0]


def test_a_step_without_an_upgrade_is_named_and_not_a_fail_while_it_is_healthy() -> None:
    later = datetime(2026, 5, 9, 13, 0, 0)
    found = judged(log(LENGTH_319) + log(LENGTH_319, factor=1.66 / 2.19, begin=later, seed=2))
    assert found.outcome == "pass"
    assert ids(found) == ["changed-at-once"]


def test_what_came_after_the_last_step_is_judged_by_itself() -> None:
    later = datetime(2026, 5, 9, 13, 0, 0)
    found = judged(log(LENGTH_319, windows=90) + log(ALL_WRONG_C1, windows=20, begin=later, seed=2))
    assert found.summary.length is not None
    assert found.summary.length > 1.5
    assert found.outcome == "fail"
    assert found.reasons[0].startswith("since 05-09 13:00")


def test_a_collapse_of_a_minute_is_seen_after_a_good_day() -> None:
    """2000 windows are looked at in groups of fourteen: no step would show six of them."""
    later = datetime(2026, 5, 9, 20, 0, 0)
    found = judged(log(RIGHT_K15, windows=2000) + log(ALL_WRONG_C1, windows=6, begin=later, seed=2))
    assert found.outcome == "fail"
    assert found.reasons[0].startswith("since 05-09 20:0")
    assert "collapsed" in found.reasons[0]
    assert found.reasons[1] == "all together: acceptance length is above the floor"
    assert "several-fields-wrong" in ids(found)


def test_what_was_mended_passes_and_says_what_was() -> None:
    later = datetime(2026, 5, 9, 13, 0, 0)
    found = judged(log(ALL_WRONG_C1, windows=60) + log(RIGHT_K15, windows=12, begin=later, seed=2))
    assert found.summary.length is not None
    assert found.summary.length < 1.5
    assert found.outcome == "pass"
    assert found.reasons[0] == "since 05-09 13:00:10: acceptance length is above the floor"
    assert found.reasons[1].startswith("all together: collapsed")


def test_twelve_percent_at_k15_against_43_at_k5_is_no_regression() -> None:
    k5, k15 = judged(log(FIELD_REPORT_K5), "k5"), judged(log(FIELD_REPORT_K15), "k15")
    assert k5.summary.window.acceptance_rate == pytest.approx(0.43, abs=0.02)
    assert k15.summary.window.acceptance_rate == pytest.approx(0.12, abs=0.02)
    for before, after in ((k15, k5), (k5, k15)):
        found = compare(before, after)
        assert (found.outcome, found.causes) == ("pass", ())
        assert any("acceptance rates do not compare" in note for note in found.notes)


def test_a_log_with_two_numbers_of_tokens_is_judged_at_the_last_one() -> None:
    found = judged(log(FIELD_REPORT_K15) + log(FIELD_REPORT_K5, begin=datetime(2026, 5, 9, 13, 0, 0)))
    assert found.summary.k == 5
    assert found.outcome == "pass"
    assert found.changes == ()
    assert any("at k=15" in note for note in found.notes)
    (earlier,) = json.loads(json.dumps(found.as_json()))["earlier"]
    assert earlier["speculative_tokens"] == 15


def test_a_slow_slide_is_drift_and_no_step() -> None:
    """Public report: 3.07 -> 2.80 over hours, healed by a restart."""
    pieces = [
        log(
            FIELD_REPORT_K5,
            windows=6,
            factor=(length - 1) / 2.143,
            seed=i,
            begin=datetime(2026, 5, 9, 8 + i // 2, 30 * (i % 2)),
        )
        for i, length in enumerate((3.07, 3.05, 3.01, 2.98, 2.95, 2.92, 2.89, 2.86, 2.83, 2.80))
    ]
    found = judged(b"".join(pieces))
    assert [change.kind for change in found.changes] == ["drift"]
    assert ids(found) == ["slow-decay"]


def test_good_and_dead_windows_in_turn_point_at_the_requests() -> None:
    dead = (0.01,) + (0.0,) * 14
    pieces = [
        log(dead if i % 3 == 0 else RIGHT_K15, windows=2, seed=i, begin=datetime(2026, 5, 9, 8, i)) for i in range(15)
    ]
    assert "good-and-dead-windows" in ids(judged(b"".join(pieces)))


def test_one_data_parallel_engine_that_does_not_work_is_named() -> None:
    found = judged(log(RIGHT_K15, engines=[RIGHT_K15, (0.01,) + (0.0,) * 14, RIGHT_K15]))
    assert ids(found)[0] == "one-engine-broken"
    assert "engine 1" in found.causes[0].cause


def test_two_logs_of_the_same_server_are_no_regression() -> None:
    outcomes = [
        compare(judged(log(RIGHT_K15, seed=seed)), judged(log(RIGHT_K15, seed=seed + 100))).outcome
        for seed in range(20)
    ]
    assert outcomes == ["pass"] * 20


def plain(tokens_per_s: float, lines: int = 20) -> bytes:
    """The log of a server without speculation."""
    line = (
        "(APIServer pid=7) INFO 05-09 12:00:00 [loggers.py:310] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
        f"Avg generation throughput: {tokens_per_s:.1f} tokens/s, Running: 1 reqs, Waiting: 0 reqs\n"
    )
    return (line * lines).encode()


def test_slower_than_without_speculation_is_a_failure_of_its_own() -> None:
    """log() generates about 80 tokens a second: 30 rounds of 2.7."""
    speculating = judged(log(RIGHT_K15))
    slow, fast = compare(judged(plain(200)), speculating, host="ct129"), compare(judged(plain(40)), speculating)
    assert (slow.outcome, fast.outcome) == ("fail", "pass")
    assert ids(slow) == ["slower-than-no-speculation"]
    assert slow.causes[0].next == "invoke tune --host ct129"
    assert "against no speculation: 40.0 ->" in fast.reasons[0]


def test_as_much_accepted_and_slower_is_named() -> None:
    before, after = (
        judged(log(RIGHT_K15)),
        judged(log(RIGHT_K15, seed=2).replace(b"Running: 1 reqs", b"Running: 2 reqs")),
    )
    assert compare(before, after).causes == ()  # never as many requests running at once
    halved = log(RIGHT_K15, rounds=300, pace=0.5, seed=2)
    assert ids(compare(before, judged(halved))) == ["slower-at-equal-acceptance"]


def test_what_cannot_be_compared_is_inconclusive() -> None:
    empty = judged(b"")
    good = judged(log(RIGHT_K15))
    assert compare(empty, good).outcome == "inconclusive"
    assert compare(good, empty).outcome == "inconclusive"


def test_nothing_to_count_is_inconclusive_and_says_why() -> None:
    found = judged(b"(APIServer pid=1) INFO 05-09 12:25:53 [x.py:1] speculative_config=None\n")
    assert found.outcome == "inconclusive"
    assert "without speculation" in found.reasons[0]
    assert found.as_json()["rounds"] is None


def test_json_has_all_that_programs_rely_on() -> None:
    document = json.loads(json.dumps(judged(log(ALL_WRONG_C1) + b"SpecDecoding metrics: Mean\n").as_json()))
    assert document["verdict"] == "fail"
    assert document["windows"] == 30
    assert (document["rounds"], document["speculative_tokens"]) == (9000, 15)
    assert document["drafted"] == 15 * document["rounds"]
    assert document["acceptance_length"] == pytest.approx(1 + document["accepted"] / document["rounds"])
    assert len(document["per_position_rates"]) == 15
    assert document["thrown_out"] == [{"line": 62, "reason": "the line is cut", "text": "SpecDecoding metrics: Mean"}]
    assert {"id", "evidence", "next"} <= document["causes"][0].keys()
    assert isinstance(document["notes"], list)
    assert document["next"] == document["causes"][0]["next"]


def test_text_says_the_number_its_width_and_the_next_command() -> None:
    lines = as_text(judged(log(ALL_WRONG_C1))).splitlines()
    assert lines[0].startswith("acceptance · serve.log")
    assert lines[0].endswith("fail")
    assert lines[1].startswith("  length 1.2")
    assert "9000 rounds, k=15, 30 windows" in lines[1]
    assert lines[-1] == "  next: invoke drafter --host ct129"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (b"", "invoke bench --host ct129"),
        (printed(2, [1, 1, 0, 0, 0]).encode(), "invoke bench --host ct129"),
        (log((0.46,), rounds=3000), "invoke drafter --host ct129"),
    ],
    ids=["nothing", "two rounds", "below the floor"],
)
def test_whatever_is_no_pass_names_the_next_command(text: bytes, command: str) -> None:
    found = judged(text)
    assert found.outcome != "pass"
    assert as_text(found).splitlines()[-1].startswith(f"  next: {command}")


@given(st.binary(), st.binary())
def test_any_bytes_are_judged_and_compared_without_an_exception(one: bytes, other: bytes) -> None:
    """Property: bytes without a window are inconclusive, and have a reason."""
    found = compare(judged(one), judged(other))
    assert found.reasons
    assert as_text(found)
    json.dumps(found.as_json())
