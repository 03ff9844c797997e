"""Why an engine died, from what it really printed."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.server.signatures import diagnose, explain, signatures

CASES = Path(__file__).parents[2] / "cases" / "server"
DEATHS = sorted(path for path in CASES.glob("*.json") if not path.name.startswith("startup-"))


@pytest.mark.parametrize("case", DEATHS, ids=lambda path: path.stem)
def test_the_root_cause_of_a_real_death_is_named(case: Path) -> None:
    wanted = json.loads(case.read_text())
    cause = diagnose(wanted["lines"])
    assert cause.signature is not None
    assert cause.signature.id == wanted["signature"]


def test_the_root_cause_counts_not_the_last_error() -> None:
    lines = [
        "(EngineCore pid=7) ERROR 11-29 12:00:00 [core.py:9] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    ]
    error = explain(lines, fallback="the server ended", host="ct129")
    assert error.what == "the server ended: GPU memory ran out"
    assert any("Tried to allocate 2.00 GiB" in line for line in error.why)
    assert error.log == "invoke logs --host ct129"


STOP = (
    "(APIServer pid=9) INFO 11-29 19:05:49 [launcher.py:254] [shutdown] API server: shutdown triggered",
    "(APIServer pid=9) ERROR 11-29 19:05:49 [async_llm.py:906] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.",
)
"""What vLLM 0.32.0 prints when it is asked to stop and everything is well."""


def test_a_server_that_was_stopped_did_not_die() -> None:
    cause = diagnose(STOP)
    assert (cause.signature, cause.exception) == (None, None)


def test_what_the_next_run_dies_of_counts_again() -> None:
    cause = diagnose([*STOP, "specrail: launch release=r pid=1 at=2026-11-29T19:06:00Z", STOP[1]])
    assert cause.signature is not None
    assert cause.signature.id == "engine-dead"


def test_an_unknown_death_shows_the_exception_and_the_end_of_the_log() -> None:
    lines = ["one", "(EngineCore pid=7) ERROR 11-29 12:00:00 [core.py:9] FrobError: the frob is loose", "last words"]
    error = explain(lines, fallback="the server ended", host="ct129")
    assert error.what == "the server ended"
    assert error.why[0] == "Last exception: FrobError: the frob is loose"
    assert error.why[-1] == "| last words"


def test_remedies_name_the_host() -> None:
    error = explain(["EngineDeadError"], fallback="died", host="ct129")
    assert error.tries == ("invoke logs --host ct129",)


def test_every_signature_says_what_helps() -> None:
    for signature in signatures():
        assert signature.what
        assert signature.tries, signature.id
    assert len({signature.id for signature in signatures()}) == len(signatures())


@given(st.lists(st.text()))
def test_any_text_is_a_log(lines: list[str]) -> None:
    """Nothing that an engine can print makes the diagnosis fail."""
    explain(lines, fallback="died", host="h")
