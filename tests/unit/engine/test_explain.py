"""Failed builds are explained: the cause, not its consequences, and what helps."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import EngineError
from roles.engine.explain import explain

CASES = sorted((Path(__file__).parents[2] / "cases" / "engine" / "explain").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_failure_is_explained_as_the_case_says(path: Path) -> None:
    case: dict[str, Any] = json.loads(path.read_text())
    error = explain("\n".join(case["log"]), case["exit_status"], title=case["title"])
    told = str(error)
    assert error.what.startswith(f"{case['title']}: ")
    assert case["what"] in error.what
    assert [words for words in case["tries"] if words not in "\n".join(error.tries)] == []
    assert [words for words in case["why"] if words not in "\n".join(error.why)] == []
    assert [words for words in case["never"] if words in told] == []
    assert "{" not in told


@given(st.text(), st.none() | st.integers())
def test_any_log_is_explained(log: str, status: int | None) -> None:
    """Property: whatever a build printed, the answer is an error of one line and something to try."""
    error = explain(log, status)
    assert isinstance(error, EngineError)
    assert "\n" not in error.what
    assert error.tries
