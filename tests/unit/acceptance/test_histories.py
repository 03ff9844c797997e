"""Logs over hours, by cases: what their order gives away, alone and against an earlier log; a steady one gives nothing."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from roles.acceptance import against, diagnosis, diagnosis_history
from roles.acceptance.judgement import Judgement, judge
from roles.acceptance.judgement_text import as_text
from roles.acceptance.loglines import read
from tests.unit.acceptance.cases import load, paths
from tests.unit.acceptance.printed_logs import log

_BEGIN = datetime(2026, 5, 9, 8, 0, 0)


def plain(tokens_per_s: float) -> bytes:
    """Two minutes of a server without speculation."""
    line = (
        "(APIServer pid=7) INFO 05-09 12:00:00 [loggers.py:310] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
        f"Avg generation throughput: {tokens_per_s:.1f} tokens/s, Running: 1 reqs, Waiting: 0 reqs\n"
    )
    return (line * 12).encode()


def printed(pieces: Sequence[dict[str, Any]]) -> bytes:
    """One log of all pieces, an hour between their beginnings."""
    texts = [
        plain(piece["plain"]) if "plain" in piece else log(**piece, seed=i, begin=_BEGIN + timedelta(hours=i))
        for i, piece in enumerate(pieces, start=1)
    ]
    return b"".join(texts)


def judged(case: dict[str, Any]) -> Judgement:
    found = judge(read(printed(case["pieces"]).splitlines()), label="serve.log", host="ct129")
    if "before" not in case:
        return found
    before = judge(read(printed(case["before"]).splitlines()), label="before.log", host="ct129")
    return against.compare(before, found, host="ct129")


@pytest.mark.parametrize("path", paths("histories"), ids=lambda path: path.stem)
def test_a_history_is_judged_as_the_case_says(path: Path) -> None:
    case = load(path)
    found = judged(case)
    assert found.outcome == case["outcome"], found.reasons
    assert [cause.id for cause in found.causes] == case["causes"]
    assert [change.kind for change in found.changes] == case["changes"]
    for cause in found.causes:
        assert any(char.isdigit() for char in cause.why)
        assert cause.next.startswith("invoke ")
    assert found.outcome == "pass" or "  next: invoke " in as_text(found)


def test_every_diagnosis_has_a_case() -> None:
    sources = "".join(Path(module.__file__ or "").read_text() for module in (diagnosis, diagnosis_history, against))
    known = set(re.findall(r'Cause\(\s*"([a-z-]+)"', sources)) | set(diagnosis._FIELDS)
    shown = {cause for folder in ("curves", "histories") for path in paths(folder) for cause in load(path)["causes"]}
    assert len(known) > 12
    assert known - shown == set()
