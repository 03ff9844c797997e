"""Drafters that are right, short, wrong and half: what the check says of them, and what the gate and health see when it is overruled."""

from collections.abc import Iterator

import pytest

from inventory.errors import ExitCode
from tests.e2e.person import Said
from tests.engine.host import BARE, EngineHost
from tests.lab import tiny

FEW = 3


@pytest.fixture(scope="module")
def largest(serving: EngineHost) -> str:
    """The release with all the tokens that the drafter can."""
    release = serving.current
    assert release is not None
    return release


@pytest.fixture(scope="module")
def few(serving: EngineHost, largest: str) -> Iterator[str]:
    """Another release, with fewer; the way back from the wrong ones, and in the end the one that is rolled back."""
    said = serving.types(f"deploy --tokens {FEW}")
    assert said.code == 0, said.all
    release = serving.current
    assert release not in (None, largest)
    yield str(release)
    back = serving.types(f"rollback --to {largest}")
    assert back.code == 0, back.all


def test_more_tokens_are_longer_rounds_over_the_same_first_positions(
    serving: EngineHost, largest: str, few: str
) -> None:
    long, short = (serving.gate(release) for release in (largest, few))
    assert (long["speculative_tokens"], short["speculative_tokens"]) == (tiny.TOKENS, FEW)
    assert long["acceptance_length"]["estimate"] > short["acceptance_length"]["estimate"]
    assert long["per_position_rates"][0] == pytest.approx(short["per_position_rates"][0], abs=0.15)


@pytest.mark.parametrize(
    ("rule", "config"),
    [
        ("mask_token_id", {"dflash_config": {"mask_token_id": 2048}}),
        ("target_layer_ids", {"dflash_config": {"target_layer_ids": [1, 3, 9]}}),
    ],
)
def test_a_wrong_config_is_refused(serving: EngineHost, few: str, rule: str, config: dict[str, object]) -> None:
    said = serving.types(f"deploy --tokens {FEW} --drafter-config {serving.drafter_config(rule, config)}")
    assert said.code == ExitCode.FAILED, said.all
    assert f"dflash_config.{rule}" in said.error
    assert serving.current == few


def test_a_drafter_without_a_config_is_refused(serving: EngineHost, few: str) -> None:
    said = bare(serving, "deploy --tokens 3")
    assert said.code == ExitCode.FAILED, said.all
    assert "config.json" in said.error
    assert serving.current == few


def test_a_mask_token_that_the_target_uses_is_seen_by_the_gate(serving: EngineHost, few: str) -> None:
    """The check warns only: it cannot know. The server runs, answers well, and accepts next to nothing."""
    said = serving.types(f"deploy --drafter-config {tiny.USED_MASK}")
    assert said.code == ExitCode.GATE_FAILED, said.all
    assert "<|im_end|>, a token that the target uses" in said.all
    assert f"reverted to {few}, which answers" in said.all
    assert serving.current == few


def test_layers_that_the_target_lacks_are_seen_by_the_first_completion(serving: EngineHost, few: str) -> None:
    """/health is 200 until then."""
    said = serving.types(f"deploy --drafter-config {tiny.NO_SUCH_LAYER} --allow-drafter-errors")
    assert said.code == ExitCode.FAILED, said.all
    assert "first completion failed" in said.error
    assert "drafter and target do not fit each other" in said.error
    assert f"reverted to {few}" in said.error
    assert serving.current == few


def test_a_missing_config_is_seen_by_the_start(serving: EngineHost, few: str) -> None:
    said = bare(serving, "deploy --tokens 3 --allow-drafter-errors")
    assert said.code == ExitCode.FAILED, said.all
    assert "has no config.json" in said.error
    assert f"reverted to {few}" in said.error
    assert serving.current == few


def bare(serving: EngineHost, line: str) -> Said:
    """With an inventory whose drafter is a folder of weights alone."""
    changes = {"hosts.ct129.drafter.path": str(serving.models / BARE)}
    return serving.types(line, inventory=serving.inventory("bare.yml", changes))
