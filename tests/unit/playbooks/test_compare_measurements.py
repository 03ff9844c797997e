"""`invoke acceptance --compare` on what the history remembers: by the ids that `invoke history` prints."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbooks.acceptance import Options, run_files
from playbooks.remembered import reading
from roles.acceptance.baseline import Baseline
from roles.acceptance.statistics import Comparison
from roles.acceptance.window import pool
from roles.conditions import Conditions
from roles.load.history import History, Run
from tests.unit.acceptance.simulate import RIGHT_K5, RIGHT_K15, prompts_that_differ, windows

CONDITIONS = Conditions(engine="vllm 0.27.1", model="m@1", drafter="d1", k=15, prompts="std-50@c1f2", temperature=0.0, max_tokens=128)  # fmt: skip
EASE = prompts_that_differ(np.random.default_rng(61), 50)
AN_EIGHTH_LESS = tuple(0.79 * rate for rate in RIGHT_K15)


def gate(
    rates: Sequence[float], conditions: Conditions = CONDITIONS, again: Comparison | None = None, seed: int = 62
) -> Run:
    """What a gate leaves in the history."""
    measured = tuple(windows(np.random.default_rng(seed), rates, EASE, 48))
    baseline = Baseline("2026-11-29T12-25-53Z-7f3a", conditions, measured, again)
    return Run(
        kind="gate",
        host="ct129",
        release=baseline.release,
        at=datetime(2026, 11, 29, 12, 30, tzinfo=UTC),
        conditions=asdict(conditions),
        summary={"start_s": 90.0, "baseline": baseline.as_json()},
        counts={"rounds": 2400, "k": len(rates)},
        verdict="pass",
    )


def bench(rates: Sequence[float], conditions: Conditions = CONDITIONS) -> Run:
    """What a bench leaves there: the sum of its requests."""
    whole = pool(prompt.window for prompt in windows(np.random.default_rng(63), rates, EASE, 48))
    counts = {name: getattr(whole, name) for name in ("rounds", "accepted", "drafted", "per_position", "k")}
    extra: dict[str, object] = {"reach": "tunnel", "concurrency": 1}
    return replace(
        gate(rates, conditions),
        kind="bench",
        conditions={**asdict(conditions), **extra},
        summary={"requests_ok": 50},
        counts=counts,
        verdict=None,
    )


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv("SPECRAIL_STATE", str(tmp_path))
    return History(tmp_path / "history.sqlite3")


def compared(
    history: History, capsys: pytest.CaptureFixture[str], before: Run, after: Run
) -> tuple[int, dict[str, object]]:
    ids = tuple(str(kept.id) for run in (before, after) if (kept := history.add(run)))
    code = run_files((), Options(compare=ids), as_json=True)
    return code, json.loads(capsys.readouterr().out)


def test_gates_are_compared_prompt_by_prompt_and_the_upgrade_is_blamed(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    upgraded = replace(CONDITIONS, engine="vllm 0.28.0")
    code, found = compared(history, capsys, gate(RIGHT_K15), gate(AN_EIGHTH_LESS, upgraded, seed=64))
    assert (code, found["verdict"]) == (1, "fail")
    assert found["against"] == "gate 1 of ct129 (2026-11-29 12:30)"
    change, causes = found["change"], found["causes"]
    assert isinstance(change, dict)
    assert isinstance(causes, list)
    assert change["prompts"] == 50
    assert causes[0]["id"] == "engine-changed"
    assert "from vllm 0.27.1 to vllm 0.28.0" in causes[0]["cause"]
    assert causes[0]["next"].startswith("invoke rollback")


def test_a_drop_within_the_measured_noise_is_no_failure(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    noisy = Comparison(0.01, -0.4, 0.5, 0.9, 8, 0.2, 0.95)
    code, found = compared(history, capsys, gate(RIGHT_K15, again=noisy), gate(AN_EIGHTH_LESS, seed=64))
    assert code == 4
    assert "two runs of before differ by up to" in str(found["reasons"])


def test_other_work_is_not_compared(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    warm = replace(CONDITIONS, temperature=0.7, max_tokens=256)
    code, found = compared(history, capsys, gate(RIGHT_K15), gate(AN_EIGHTH_LESS, warm))
    assert code == 4
    assert str(found["reasons"]).startswith("['cannot be compared: other work (temperature, max_tokens)'")
    assert found["change"] is None


def test_twelve_percent_at_fifteen_against_a_third_at_five_is_no_regression(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = compared(history, capsys, gate(RIGHT_K5, replace(CONDITIONS, k=5)), gate(RIGHT_K15))
    assert (code, found["causes"]) == (0, [])
    assert "acceptance rates do not compare" in str(found["notes"])


def test_a_bench_counts_as_the_requests_that_it_made(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = compared(history, capsys, bench(RIGHT_K15), bench(RIGHT_K15))
    assert code == 0
    code, found = compared(history, capsys, bench(RIGHT_K15), bench(tuple(0.6 * rate for rate in RIGHT_K15)))
    assert (code, found["verdict"]) == (1, "fail")


def test_without_speculation_there_is_nothing_to_compare(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = compared(history, capsys, replace(bench(RIGHT_K15), counts=None), bench(RIGHT_K15))
    assert code == 4
    assert "the earlier one has no window" in str(found["reasons"])


def test_an_id_that_nothing_has_is_told_with_where_ids_are(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_files((), Options(compare=("1", "2")), as_json=False) == 2
    said = capsys.readouterr().err
    assert "there is no run 1 in the history" in said
    assert "invoke history" in said


def fast(run: Run, tokens_per_s: float) -> Run:
    return replace(run, summary={"requests_ok": 50, "total_tok_s": tokens_per_s})


@pytest.mark.parametrize(("tokens_per_s", "code"), [(40.0, 0), (18.0, 1)])
def test_slower_than_the_same_server_without_speculation_is_a_failure_of_its_own(
    history: History, capsys: pytest.CaptureFixture[str], tokens_per_s: float, code: int
) -> None:
    without = replace(fast(bench(RIGHT_K15, replace(CONDITIONS, k=None, drafter=None)), 23.9), counts=None)
    ended, found = compared(history, capsys, without, fast(bench(RIGHT_K15), tokens_per_s))
    assert ended == code
    assert ("slower-than-no-speculation" in str(found["causes"])) == bool(code)
    assert f"23.9 -> {tokens_per_s} tokens/s" in str(found["reasons"])


def test_as_much_accepted_and_slower_is_named(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = compared(history, capsys, fast(bench(RIGHT_K15), 60.0), fast(bench(RIGHT_K15), 40.0))
    assert code == 0
    assert "slower-at-equal-acceptance" in str(found["causes"])


def test_the_latest_benches_need_no_number(history: History, capsys: pytest.CaptureFixture[str]) -> None:
    for rates in (RIGHT_K15, RIGHT_K5):
        history.add(bench(rates))
    assert run_files((), Options(compare=("last-1", "#2")), as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["against"] == "bench 1 of ct129 (2026-11-29 12:30)"


def test_a_file_is_meant_before_an_id(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1").write_text("nothing of interest\n")
    history.add(gate(RIGHT_K15))
    assert run_files((), Options(compare=("1", "1")), as_json=False) == 4
    assert "acceptance · 1 against 1" in capsys.readouterr().out


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["baseline", "rounds", "k", "engine"]), inner),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(["engine", "k", "temperature", "thinking", "odd"]), _JSON),
    st.none() | st.dictionaries(st.sampled_from(["baseline", "requests_ok"]), _JSON),
    st.none() | st.dictionaries(st.sampled_from(["rounds", "accepted", "drafted", "per_position", "k"]), _JSON),
)
def test_anything_that_a_history_may_hold_is_evidence_or_none(
    conditions: dict[str, object], summary: dict[str, object] | None, counts: dict[str, object] | None
) -> None:
    """Property: no stored values raise; without a window it says why."""
    run = replace(gate(RIGHT_K5), conditions=conditions, summary=summary, counts=counts)
    found = reading(run)
    assert found.seen or found.why_nothing
