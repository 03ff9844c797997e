"""Which vLLM wrote a log is read from its own words or its log calls' line numbers."""

import pytest

from roles.acceptance.vllm_releases import differ, from_origins, said_version


@pytest.mark.parametrize(
    ("origins", "span"),
    [
        ({"loggers.py": 111, "metrics.py": 82}, ("0.8.5", "0.8.5")),
        ({"loggers.py": 123, "metrics.py": 96}, ("0.10.2", "0.10.2")),
        ({"loggers.py": 271, "metrics.py": 101}, ("0.20.0", "0.23.0")),
        ({"loggers.py": 335, "metrics.py": 120}, ("0.32.0", "0.33.0")),
        ({"metrics.py": 120}, ("0.24.0", "0.33.0")),
        ({"loggers.py": 1}, None),
        ({"other.py": 120}, None),
    ],
)
def test_line_numbers_give_the_version_away(origins: dict[str, int], span: tuple[str, str] | None) -> None:
    assert from_origins(origins) == span


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("vLLM API server version 0.20.1", "0.20.1"),
        ("Initializing a V1 LLM engine (v0.33.0) with config:", "0.33.0"),
        ("vLLM API server version 0.20.1.dev1+pr40898", "0.20.1.dev1+pr40898"),
        ("the API server's version is unknown", None),
    ],
)
def test_a_start_says_the_version(text: str, version: str | None) -> None:
    assert said_version(text) == version


def test_spans_that_overlap_may_be_the_same_release() -> None:
    assert not differ("0.20.0-0.23.0", "0.23.0")
    assert differ("0.20.0-0.23.0", "0.24.0-0.25.0")
    assert differ("0.27.1", "0.28.0")
