"""`invoke drafter` takes a PATH of its own, and takes no other word for one."""

import shlex
import sys

import pytest

from playbooks.verbs import drafter

SWITCHES = {"--json", "-j", "--sarif", "-s"}


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ("drafter models/d", True),
        ("drafter.check models/d --target t", True),
        ("drafter --target t --engine=0.33.0 models/d", True),
        ("drafter --json models/d", True),
        ("drafter -t t -j models/d", True),
        ("drafter", False),
        ("drafter --host ct129", False),
        ("drafter --target t", False),
        ('drafter --launch \'{"method": "mtp"}\'', False),
        ("drafter --host ct129 status --host ct129", False),
        ("drafter --help", False),
        ("--help drafter", False),
        ("drafter.infer models/d", False),
        ("status --host drafter-box", False),
    ],
)
def test_word_that_is_no_flags_value_is_the_path(line: str, there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["invoke", *shlex.split(line)])
    assert drafter._has_path("drafter", "drafter.check", switches=SWITCHES) is there
