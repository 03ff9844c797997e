"""Figures of a real server: ours against the engine's own, and a collapse that happens while it serves."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from inventory.errors import ExitCode
from roles.acceptance.counters import delta
from roles.load.prompts import load_prompts
from tests.engine.host import EngineHost
from tests.lab import tiny

CODE = Path(json.__file__).read_text()


def pieces(count: int) -> Sequence[str]:
    """Pieces of code, which is what the model has learnt."""
    return [CODE[i * 400 : i * 400 + 300] for i in range(count)]


def test_bench_counts_what_the_engine_counts(serving: EngineHost) -> None:
    """To the token: everything that is counted between the two readings is the bench's own, its warm-up left out."""
    before = serving.counters()
    said = serving.types("bench --prompts 6 --json")
    after = serving.counters()
    assert said.code == 0, said.all
    ours, all_of_it = said.answer["acceptance"], delta(before, after)
    assert (ours["k"], ours["doubts"]) == (tiny.TOKENS, [])
    assert ours["accepted"] == sum(ours["per_position"])
    assert 0 < ours["rounds"] < (all_of_it.rounds or 0)  # the rest is the warm-up
    tokens = said.answer["summary"]["output_tokens"]
    assert ours["rounds"] + ours["accepted"] >= tokens - 6  # a prompt's first token comes from no round


def test_counters_are_what_vllm_bench_serve_prints_for_the_same_run(serving: EngineHost, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in pieces(8)))
    words = [
        "bench",
        "serve",
        "--backend",
        "openai-chat",
        "--endpoint",
        "/v1/chat/completions",
        "--base-url",
        serving.url,
    ]
    words += ["--model", tiny.TARGET, "--tokenizer", str(serving.models / tiny.TARGET), "--temperature", "0"]
    words += [
        "--dataset-name",
        "custom",
        "--dataset-path",
        str(prompts),
        "--num-prompts",
        "8",
        "--custom-output-len",
        "48",
    ]
    words += [
        "--max-concurrency",
        "1",
        "--disable-tqdm",
        "--ready-check-timeout-sec",
        "0",
    ]  # else it asks once beforehand
    before = serving.counters()
    ran = serving.runs("vllm", *words)
    counted = delta(before, serving.counters())
    printed = {
        name.lower(): value for name, value in re.findall(r"^([A-Z][a-z ]+):\s+(\d+)\s*$", ran.stdout, re.MULTILINE)
    }
    assert ran.returncode == 0, ran.stdout[-2000:]
    assert (counted.rounds, counted.drafted, counted.accepted) == (
        int(printed["drafts"]),
        int(printed["draft tokens"]),
        int(printed["accepted tokens"]),
    )
    rates = [float(rate) for rate in re.findall(r"^\s+Position \d+:\s+(\d+\.\d+)", ran.stdout, re.MULTILINE)]
    assert [round(100 * rate, 2) for rate in counted.per_position_rates] == pytest.approx(rates, abs=0.0051)
    assert counted.generated == int(printed["total generated tokens"])


def test_a_collapse_while_it_serves_is_seen(serving: EngineHost) -> None:
    """Sampling at temperature 1 takes nearly all drafts away on this engine, while the server goes on answering well."""
    asked = [prompt.messages[-1].content for prompt in load_prompts(limit=12)]
    for text in asked:
        serving.ask(text, temperature=0, tokens=64)
    well = serving.types("acceptance --seconds 1 --json")  # nobody asks meanwhile
    assert well.code == ExitCode.INCONCLUSIVE, well.all
    serving.types("watch --once")  # it has seen what came before
    offset = serving.log.stat().st_size
    for text in (*asked, *asked):
        assert serving.ask(text, temperature=1, tokens=64) == 64
    assert serving.logged_since(offset, "SpecDecoding metrics")
    alarm = serving.types("watch --once --json")
    assert alarm.code == ExitCode.FAILED, alarm.all
    assert [event["kind"] for event in alarm.answer["events"]] == ["alarm"], alarm.all
    now = serving.types("acceptance --since 1m --json")
    assert now.answer["verdict"] == "fail", now.all
