"""The stand-in engine makes a drafter earn its acceptance: each wrong field costs what it cost on the real engine."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.lab.engine.process import Engine, Launch

WRONG = json.loads((Path(__file__).parents[3] / "lab/drafters/wrong-qwen3.6-27b.json").read_text())
PROMPTS = [f"Write {number} lines about harbours at night" for number in range(48)]
FULL = {"layer_types": ["full_attention"] * 5, "use_sliding_window": False}
GUESSED = {"dflash_config": {"target_layer_ids": [1, 17, 33, 49, 63]}}
READ = """
import json, sys
from pathlib import Path
from vllm.drafter import Drafter
from vllm.files import read_target
target, drafter = read_target(Path(sys.argv[1])), Drafter.read(Path(sys.argv[2]))
print(json.dumps(drafter.rates(target, drafter.aux_layers(target), int(sys.argv[3]))))
"""
Rates = Callable[..., list[float]]


@pytest.fixture
def rates(build: Callable[[int | None], Path], models: Path, drafter: Callable[..., Path]) -> Rates:
    """Returns a function: the rates of a build (a pull request, None is main) for a changed drafter config."""

    def ask(pull: int | None = 40898, k: int = 15, **changes: Any) -> list[float]:
        words = (sys.executable, "-c", READ, str(models / "Qwen3.6-27B"), str(drafter(**changes)), str(k))
        return list(json.loads(subprocess.run(words, cwd=build(pull), check=True, capture_output=True).stdout))

    return ask


def length(rates: list[float]) -> float:
    return 1 + sum(rates)


@pytest.mark.parametrize(
    ("k", "changes", "low", "high"),
    [(15, {}, 2.75, 3.0), (5, {}, 2.95, 3.2), (15, WRONG, 1.1, 1.3)],
)
def test_a_server_accepts_as_its_drafter_deserves(
    launch: Callable[..., Launch],
    drafter: Callable[..., Path],
    k: int,
    changes: dict[str, Any],
    low: float,
    high: float,
) -> None:
    with Engine(launch(k=k, drafter=drafter(**changes), clock=500)) as engine:
        answers = engine.ready().chats(PROMPTS, max_tokens=128)
        metrics = engine.metrics()
    accepted, rounds = (metrics[f"vllm:spec_decode_num_{name}_total"] for name in ("accepted_tokens", "drafts"))
    assert low < 1 + accepted / rounds < high
    assert all(answer["usage"]["completion_tokens"] == 128 for answer in answers)


def test_the_wrong_config_of_the_field_report_is_accepted_at_about_one_percent(rates: Rates) -> None:
    assert rates(**WRONG)[:3] == pytest.approx([0.196, 0.006, 0], abs=0.001)
    assert sum(rates(**WRONG)) / 15 == pytest.approx(0.0135, abs=0.001)
    assert rates(None, **WRONG) == rates(**WRONG)


def test_the_build_matters_as_much_as_the_config(rates: Rates) -> None:
    right = length(rates())
    offset_only, neither = length(rates(40727)), length(rates(None))
    assert right == pytest.approx(2.9, abs=0.01)
    assert neither < offset_only < 1.9
    assert rates(40727) == rates(**FULL)  # a build that ignores layer types does what a config without them does


def test_a_used_mask_token_keeps_the_first_position_and_loses_the_rest(rates: Rates) -> None:
    right, wrong = rates(), rates(dflash_config={"mask_token_id": 248063})
    assert wrong[0] > 0.95 * right[0]
    assert wrong[3] < 0.05 * right[3]


def test_an_unused_mask_token_halves_the_first_position_too(rates: Rates) -> None:
    right, wrong = rates(), rates(dflash_config={"mask_token_id": 248071})
    assert 0.4 < wrong[0] / right[0] < 0.6
    assert wrong[3] > 0.1 * right[3]


def test_wrong_layer_types_cost_more_than_half_at_every_position_but_the_first(rates: Rates) -> None:
    right, wrong = rates(), rates(**FULL)
    assert wrong[0] / right[0] == pytest.approx(0.59)
    assert all(bad < 0.4 * good for bad, good in zip(wrong[1:5], right[1:5], strict=True))


def test_guessed_layers_cost_a_tenth_and_layers_off_by_one_almost_nothing(rates: Rates) -> None:
    right = length(rates())
    assert length(rates(**GUESSED)) / right == pytest.approx(0.9, abs=0.02)
    assert length(rates(dflash_config={"target_layer_ids": [0, 15, 30, 45, 60]})) / right == pytest.approx(
        0.97, abs=0.01
    )


def test_fewer_tokens_are_drafted_better_and_positions_beyond_the_training_never(rates: Rates) -> None:
    assert rates(k=5)[0] > rates(k=8)[0] > rates(k=15)[0]
    assert rates(k=3) == rates(k=5)[:3]
    assert rates(k=18)[15:] == [0, 0, 0]


@pytest.mark.parametrize("k", [1, 5, 7, 15])
@pytest.mark.parametrize("changes", [{}, FULL, GUESSED, WRONG, {"dflash_config": {"mask_token_id": 248071}}])
def test_rates_never_rise_along_the_positions(rates: Rates, k: int, changes: dict[str, Any]) -> None:
    found = rates(k=k, **changes)
    assert len(found) == k
    assert found == sorted(found, reverse=True)


def test_a_build_with_tables_drafts_as_many_tokens_as_its_batch_size_says(
    launch: Callable[..., Launch], models: Path
) -> None:
    """One request at a time gets three tokens, two and more get one: the counters tell."""
    speculation = {
        "method": "dflash",
        "model": str(models / "Qwen3.6-27B-DFlash"),
        "num_speculative_tokens": 3,
        "num_speculative_tokens_per_batch_size": [[1, 1, 3], [2, 8, 1]],
    }
    flags = ("--tensor-parallel-size", "2", "--speculative-config", json.dumps(speculation))
    with Engine(launch(32374, flags=flags, clock=500)) as engine:
        engine.ready().chats(PROMPTS[:1], max_tokens=64)
        alone = engine.metrics()
        engine.chats(PROMPTS[:8], max_tokens=64)
        together = engine.metrics()
    drafts, drafted = "vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_draft_tokens_total"
    assert alone[drafted] == 3 * alone[drafts]
    assert together[drafted] - alone[drafted] < 2 * (together[drafts] - alone[drafts])


def test_a_build_without_tables_does_not_start_with_one(launch: Callable[..., Launch]) -> None:
    speculation = {"method": "mtp", "num_speculative_tokens": 3, "num_speculative_tokens_per_batch_size": [[1, 8, 3]]}
    with Engine(launch(flags=("--speculative-config", json.dumps(speculation)))) as engine:
        engine.wait_for("num_speculative_tokens_per_batch_size: Unexpected keyword argument")
