"""The gate against a server: the lab's engine over HTTP, with the load client and the fixed prompts."""

import io
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inventory.models import Gate
from roles.acceptance.baseline import Baseline
from roles.acceptance.gate import GateResult, run_gate
from roles.acceptance.loglines import read
from roles.acceptance.window import pool
from roles.conditions import Conditions
from roles.load.client import complete_sync, get
from roles.load.completion import Completion
from roles.load.endpoint import Endpoint
from roles.load.prompts import Prompt, load_prompts
from tests.lab import models as lab_models
from tests.lab import repository as lab_repository
from tests.unit.lab.engine.process import Engine, Launch

POLICY = Gate(prompts=24, max_tokens=96)
PROMPTS = load_prompts("std-50")
CLOCK = 500  # times faster than the field report's GPUs


@pytest.fixture(scope="module")
def launch(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | None, int], Launch]:
    """Returns a function: a launch with a drafter config of the lab ("wrong-qwen3.6-27b"; None is right) and k."""
    root = tmp_path_factory.mktemp("gate")
    repository = lab_repository.make(root / "vllm.git")
    words = ["git", "archive", repository.pulls[40898]]
    archive = subprocess.run(words, cwd=repository.folder, check=True, stdout=subprocess.PIPE)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(root / "build", filter="data")
    lab_models.make(root / "models")
    (root / "tools").mkdir()
    smi = root / "tools" / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho '0, GPU-a, NVIDIA RTX A6000, 49140, 4\n1, GPU-b, NVIDIA RTX A6000, 49140, 4'\n")
    smi.chmod(0o755)
    published = root / "models" / "Qwen3.6-27B-DFlash"

    def make(wrong: str | None, k: int) -> Launch:
        drafter = published
        if wrong is not None:
            drafter = root / f"drafter-{wrong}"
            drafter.mkdir(exist_ok=True)
            (drafter / "model.safetensors").symlink_to(published / "model.safetensors")
            (drafter / "config.json").write_text(
                (Path(lab_models.__file__).parent / f"drafters/{wrong}.json").read_text()
            )
        caches = tmp_path_factory.mktemp("caches")
        return Launch(root / "build", root / "models", root / "tools", caches, clock=CLOCK, drafter=drafter, k=k)

    return make


def gate(engine: Engine, k: int, baseline: Baseline | None = None) -> GateResult:
    endpoint = Endpoint(f"http://127.0.0.1:{engine.port}", "lab")

    def send(prompt: Prompt, max_tokens: int) -> Completion:
        return complete_sync(endpoint, prompt, max_tokens=max_tokens)

    def scrape() -> str:
        return get(endpoint, "/metrics")[1]

    conditions = Conditions(k=k, prompts="std-50", temperature=0.0, concurrency=1, max_tokens=POLICY.max_tokens)
    return run_gate(send, scrape, PROMPTS, POLICY, baseline, conditions, lambda _: None, release=f"k{k}", host="ct129")


@pytest.fixture(scope="module")
def right(launch: Callable[[str | None, int], Launch]) -> Iterator[tuple[Engine, GateResult]]:
    with Engine(launch(None, 15)) as engine:
        yield engine, gate(engine.ready(), 15)


def test_the_right_drafter_passes_and_every_window_is_the_prompts_own(right: tuple[Engine, GateResult]) -> None:
    _, result = right
    assert result.verdict.outcome == "pass"
    assert not any(window.mixed for window in result.windows)
    assert result.verdict.length is not None
    assert 2.5 < result.verdict.length.estimate < 3.2
    assert result.diagnosis.causes == ()


def test_the_same_release_again_is_no_change(right: tuple[Engine, GateResult]) -> None:
    engine, first = right
    again = gate(engine, 15, first.baseline)
    assert again.verdict.outcome == "pass"
    assert again.verdict.change is not None
    assert again.verdict.change.relative == pytest.approx(0, abs=0.01)


def test_the_field_reports_wrong_config_is_a_collapse_in_fewer_than_sixty_rounds(
    right: tuple[Engine, GateResult], launch: Callable[[str | None, int], Launch]
) -> None:
    with Engine(launch("wrong-qwen3.6-27b", 15)) as engine:
        result = gate(engine.ready(), 15, right[1].baseline)
    assert result.verdict.outcome == "fail"
    assert result.verdict.collapsed
    assert result.verdict.window.rounds < 60
    assert result.diagnosis.causes[0].id == "several-fields-wrong"


def test_five_tokens_pass_against_a_baseline_of_fifteen(
    right: tuple[Engine, GateResult], launch: Callable[[str | None, int], Launch]
) -> None:
    with Engine(launch(None, 5)) as engine:
        result = gate(engine.ready(), 5, right[1].baseline)
    assert result.verdict.outcome == "pass"
    assert any("approximate" in note for note in result.verdict.notes)


def test_the_servers_log_says_the_same_as_its_counters(launch: Callable[[str | None, int], Launch]) -> None:
    with Engine(launch(None, 15)) as engine:
        result = gate(engine.ready(), 15)
        counted = pool(prompt.window for prompt in (*result.probes, *result.windows))
        for _ in range(2000):
            engine.get("/health")  # the last line comes at the end of its interval
            reading = read([line.encode() for line in engine.log])
            printed = pool(reading.windows)
            if printed.rounds >= counted.rounds:
                break
    assert reading.thrown_out == ()
    assert (printed.rounds, printed.accepted, printed.drafted) == (counted.rounds, counted.accepted, counted.drafted)
