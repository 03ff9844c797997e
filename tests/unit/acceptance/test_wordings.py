"""Every wording that vLLM 0.6-0.33 has had, and every log and scrape of a real server, gives the counts that are in it."""

from typing import Any

import pytest

from roles.acceptance.loglines import read
from roles.acceptance.vllm_spec import stats_of
from roles.acceptance.window import pool
from tests.unit.acceptance.cases import ROOT, load
from tests.unit.acceptance.test_bulk import searched

_WORDINGS = load(ROOT / "wordings.json")
_SERVED = load(ROOT / "served" / "right.json")
_FIGURES = ("rounds", "accepted", "drafted", "k")


@pytest.mark.parametrize("line", _WORDINGS["drafts"], ids=lambda line: line["text"][:60])
def test_drafts_are_counted_in_every_wording(line: dict[str, Any]) -> None:
    (window,) = read([line["text"].encode()]).windows
    assert {name: getattr(window, name) for name in _FIGURES} == {name: line[name] for name in _FIGURES}
    assert list(window.per_position) == line["per_position"]


@pytest.mark.parametrize("line", _WORDINGS["uncounted"], ids=lambda line: line["text"][:60])
def test_drafts_that_give_no_counts_are_thrown_out(line: dict[str, Any]) -> None:
    reading = read([line["text"].encode()])
    assert reading.windows == ()
    assert [line["why"] in thrown.reason for thrown in reading.thrown_out] == [True]


@pytest.mark.parametrize("line", _WORDINGS["statistics"], ids=lambda line: line["text"][:60])
def test_statistics_are_read_in_every_wording(line: dict[str, Any]) -> None:
    stats = stats_of(line["text"], None)
    assert stats is not None
    found = {"generation_per_s": stats.generation_per_s, "running": stats.running, "engine": stats.engine}
    assert {"text": line["text"], **found} == line


@pytest.mark.parametrize("text", _WORDINGS["neither"])
def test_other_lines_are_neither_statistics_nor_drafts(text: str) -> None:
    assert stats_of(text, None) is None
    reading = read([text.encode()])
    assert (reading.windows, reading.thrown_out) == ((), ())


def test_all_served_files_have_a_right_answer() -> None:
    assert {path.name for path in (ROOT / "served").iterdir()} == {*_SERVED, "right.json"}


@pytest.mark.parametrize("name", _SERVED)
def test_what_a_real_server_wrote_gives_its_counts(name: str) -> None:
    """Positions are exact below a thousand rounds; above, three printed digits leave some of them open."""
    text, right = (ROOT / "served" / name).read_bytes(), _SERVED[name]
    reading = read(text.splitlines())
    window = pool(reading.windows)
    assert (reading.kept, dict(reading.reasons)) == (right["windows"], {})
    if not right["windows"]:
        assert reading.why_nothing
        return
    assert {name: getattr(window, name) for name in _FIGURES} == {name: right[name] for name in _FIGURES}
    open_to = sum(1 + one.rounds // 500 for one in reading.windows if one.rounds >= 1000 and name.endswith(".log"))
    assert all(abs(a - b) <= open_to for a, b in zip(window.per_position, right["per_position"], strict=True))
    assert sum(window.per_position) == right["accepted"]


@pytest.mark.parametrize("name", [name for name in _SERVED if name.endswith(".log") and "bench" not in name])
def test_a_real_server_s_log_gives_the_same_when_it_is_searched(name: str) -> None:
    text = (ROOT / "served" / name).read_bytes()
    slow, fast = pool(read(text.splitlines()).windows), pool(searched(text).windows[1:])
    assert (slow.rounds, slow.accepted, slow.drafted, slow.per_position) == (
        fast.rounds,
        fast.accepted,
        fast.drafted,
        fast.per_position,
    )
