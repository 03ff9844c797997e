"""`vllm bench serve` as a source of load: what is asked of it, and what a real one answered."""

import json
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import ServerError, UsageError
from roles.load.arrivals import Arrivals
from roles.load.prompts import Message, Prompt, PromptSet
from roles.load.summary import summarise
from roles.load.vllm_bench import VllmBench, load_with_vllm, read_result, sendable
from tests.local_shell import LocalShell

RESULT = Path(__file__).parents[2] / "cases/load/vllm-bench-0.32.0-detailed.json"
PROMPTS = PromptSet("three", [Prompt.user(f"Say {number}.", name=f"p{number}") for number in range(3)])


def asked(**changes: Any) -> VllmBench:
    usual: dict[str, Any] = {
        "vllm": "/venv/bin/vllm",
        "model": "/models/tiny",
        "served_name": "tiny",
        "base_url": "http://127.0.0.1:8000",
        "prompts": PROMPTS,
        "max_tokens": 6,
        "concurrency": 2,
        "arrivals": None,
        "temperature": 0,
        "seed": None,
        "extra_body": {},
    }
    return VllmBench(**(usual | changes))


def test_a_real_result_adds_up_as_the_tool_itself_says() -> None:
    """vLLM 0.32.0 against a server that waits 200 ms and then 20 ms a token; its own means are in the same file."""
    document = json.loads(RESULT.read_text())
    summary = summarise(read_result(document, asked(arrivals=Arrivals(4))))
    assert summary.output_tokens == document["total_output_tokens"] == 18
    assert summary.total_tok_s == pytest.approx(document["output_throughput"])
    for ours, theirs in ((summary.ttft_s, "ttft"), (summary.tpot_s, "tpot"), (summary.itl_s, "itl")):
        assert ours is not None
        assert ours.mean * 1e3 == pytest.approx(document[f"mean_{theirs}_ms"])
        assert ours.p50 * 1e3 == pytest.approx(document[f"median_{theirs}_ms"])
        assert ours.p99 * 1e3 == pytest.approx(document[f"p99_{theirs}_ms"])
    assert summary.late_s is None  # it does not say


def test_an_answer_that_it_could_not_read_is_a_failed_one() -> None:
    document = json.loads(RESULT.read_text())
    document["errors"][1] = "Traceback (most recent call last):\n  ...\njson.decoder.JSONDecodeError: Expecting value\n"
    result = read_result(document, asked())
    assert result.failed == {"unreadable": 1}
    assert result.samples[1].completion.detail == "json.decoder.JSONDecodeError: Expecting value"


@pytest.mark.parametrize(
    ("changes", "has", "lacks"),
    [
        ({}, "--max-concurrency 2", "--request-rate"),
        ({"arrivals": Arrivals(2.5, 0.5, 7)}, "--request-rate 2.5 --burstiness 0.5 --seed 7", "--max-concurrency"),
        ({}, "--backend openai-chat --endpoint /v1/chat/completions", "--extra-body"),
        (
            {"prompts": PromptSet("raw", [Prompt.user("a", raw=True)])},
            "--backend openai --endpoint /v1/completions",
            "openai-chat",
        ),
        (
            {"seed": 3, "extra_body": {"ignore_eos": True}},
            """--extra-body {"ignore_eos": true, "seed": 3}""",
            "--custom-output-len 7",
        ),
    ],
)
def test_what_is_measured_is_in_its_command(changes: dict[str, Any], has: str, lacks: str) -> None:
    words = " ".join(asked(**changes).argv())
    assert has in words
    assert lacks not in words
    assert "--temperature 0 " in words
    assert "--served-model-name tiny " in words


def test_conversations_are_left_out_and_the_digest_tells() -> None:
    talk = Prompt("talk", "own", (Message("user", "a"), Message("assistant", "b"), Message("user", "c")))
    kept = sendable(PromptSet("mixed", [talk, *PROMPTS, Prompt.user("raw", raw=True)]))
    assert list(kept) == list(PROMPTS)
    with pytest.raises(UsageError, match="conversations"):
        sendable(PromptSet("talks", [talk]))


def test_it_runs_on_the_host_with_its_key_outside_of_argv_and_leaves_nothing(tmp_path: Path) -> None:
    """A stand-in that keeps what it was given, and copies a real result to where it is told to."""
    stand_in = tmp_path / "vllm"
    stand_in.write_text(
        f"""#!/bin/sh
        echo "$*" >{tmp_path}/argv
        echo "$OPENAI_API_KEY" >{tmp_path}/key
        while [ $# -gt 0 ]; do
          case $1 in
            --dataset-path) cp "$2" {tmp_path}/prompts ;;
            --result-dir) echo "$2" >{tmp_path}/folder; cp {RESULT} "$2/result.json" ;;
          esac
          shift
        done
        """
    )
    stand_in.chmod(0o755)
    shell = LocalShell()
    result = load_with_vllm(shell, asked(vllm=str(stand_in)), api_key="se cret", deadline_s=30)
    assert [sample.prompt.id for sample in result.samples] == ["p0", "p1", "p2"]
    assert (tmp_path / "key").read_text() == "se cret\n"
    assert "cret" not in (tmp_path / "argv").read_text() + "".join(shell.scripts)
    assert json.loads((tmp_path / "prompts").read_text().splitlines()[2]) == {"prompt": "Say 2."}
    assert not Path((tmp_path / "folder").read_text().strip()).exists()


def test_what_it_says_when_it_fails_is_told(tmp_path: Path) -> None:
    stand_in = tmp_path / "vllm"
    stand_in.write_text("#!/bin/sh\necho 'vllm: error: unrecognized arguments: --skip-chat-template'\nexit 2\n")
    stand_in.chmod(0o755)
    with pytest.raises(ServerError, match="gave no result") as failed:
        load_with_vllm(LocalShell(), asked(vllm=str(stand_in)), api_key=None, deadline_s=30)
    assert "unrecognized arguments" in str(failed.value)
