"""invoke bench on the practice ground: the ways to make load, and what it refuses to be fooled by."""

import json
from typing import Any

import pytest

from tests.e2e.host import Seen
from tests.e2e.person import HOST, Person
from tests.lab.ground import Lab

pytestmark = pytest.mark.lab


def measured(person: Person, flags: str) -> dict[str, Any]:
    """The answer of a bench that ended well."""
    said = person.types(f"bench --host {HOST} --max-tokens 40 --against none --json {flags}")
    assert said.code == 0, said.all
    return said.answer


def kinds(answer: dict[str, Any]) -> set[str]:
    return {doubt["kind"] for doubt in answer["doubts"]}


def test_an_open_loop_reports_its_schedule_and_goodput(person: Person, promoted: Seen) -> None:
    answer = measured(person, "--prompts 8 --rate 20 --slo ttft:30s,e2e:0.001ms")
    conditions, summary = answer["conditions"], answer["summary"]
    assert (conditions["load"], conditions["rate"], conditions["concurrency"]) == ("open loop", 20, None)
    assert summary["late_s"]["count"] == 8
    assert summary["goodput"]["met"] == 0
    assert summary["goodput"]["missed"] == {"ttft": 0, "e2e": 8}
    assert summary["in_flight"]["peak"] >= 1
    assert "20 requests/s (Poisson, seed 0)" in answer["load"]["how"]
    assert conditions["from"] == "controller"


def test_a_sweep_over_rates_names_the_one_with_most_goodput(person: Person, promoted: Seen) -> None:
    answer = measured(person, "--prompts 4 --rate 50,20 --slo e2e:100s")
    assert [run["conditions"]["rate"] for run in answer["runs"]] == [20, 50]
    assert answer["best_goodput_at"] in {20, 50}


def test_load_from_the_host_itself_counts_like_load_from_here(person: Person, promoted: Seen) -> None:
    """The same prompts at temperature 0 give the same tokens and rounds wherever they come from."""
    file = person.folder / "mine.jsonl"
    file.write_text("".join(f'{{"prompt": "Tell me about bridge number {number}."}}\n' for number in range(5)))
    here = measured(person, f"--prompts {file}")
    for flags, source in (("--from host", "specrail"), ("--source vllm", "vllm bench serve")):
        there = measured(person, f"--prompts {file} {flags}")
        assert there["conditions"]["from"] == "host"
        assert there["conditions"]["tool"] == source
        assert there["conditions"]["prompts"] == here["conditions"]["prompts"]
        assert there["summary"]["output_tokens"] == here["summary"]["output_tokens"] == 200
        assert there["acceptance"]["rounds"] == pytest.approx(here["acceptance"]["rounds"], rel=0.02)
        assert not kinds(there) - {"too-few", "prefix-cache"}, source
        assert "over loopback" in there["load"]["where"]


def test_flags_of_the_request_reach_the_engine_and_the_record(person: Person, promoted: Seen) -> None:
    answer = measured(
        person, "--prompts 2 --thinking off --temperature 0.7 --seed 11 --extra-body '{\"ignore_eos\": true}'"
    )
    conditions = answer["conditions"]
    assert (conditions["thinking"], conditions["temperature"], conditions["seed"]) == (False, 0.7, 11)
    assert conditions["extra_body"] == {"ignore_eos": True, "chat_template_kwargs": {"enable_thinking": False}}
    assert answer["summary"]["output_tokens"] == 2 * 40


def test_a_sharegpt_file_is_asked(person: Person, promoted: Seen) -> None:
    chats = [
        {"id": f"c{number}", "conversations": [{"from": "human", "value": f"Tell me about the number {number}."}, {}]}
        for number in range(9)
    ]
    file = person.folder / "chats.json"
    file.write_text(json.dumps(chats))
    answer = measured(person, f"--prompts {file}:3")
    assert answer["conditions"]["prompts"].startswith("chats@")
    assert answer["summary"]["requests_ok"] == 3


def test_what_else_is_on_the_gpus_spoils_a_run(lab: Lab, person: Person, promoted: Seen) -> None:
    try:
        lab.gpu(busy={"0": 55})
        answer = measured(person, "--prompts 4")
        said = person.types(f"bench --host {HOST} --prompts 2 --against none")
    finally:
        lab.gpu(busy={})
    assert "other-gpu-load" in kinds(answer)
    assert "something else uses them" in said.all


def test_a_table_says_how_load_was_made_and_why_that_matters(person: Person, promoted: Seen) -> None:
    said = person.types(f"bench --host {HOST} --prompts 3 --slo ttft:10s --against none")
    assert said.code == 0
    for words in ("1 at a time, temperature 0", "load from this machine", "goodput", "kept ttft <= 10 s"):
        assert words in said.all, words


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--rate fast", "--rate wants a number"),
        ("--rate 2 --concurrency 4", "do not go together"),
        ("--burstiness 2", "--rate"),
        ("--slo ttft:soon", "no limit"),
        ("--thinking maybe", "--thinking is one of on, off"),
        ("--extra-body nonsense", "JSON object"),
        ("--from moon", "--from is one of controller, host"),
        ("--source vllm --from controller", "runs on the host"),
        ("--sweep 1,2 --rate 2", "--sweep"),
        ("--temperature -1", "--temperature wants"),
    ],
)
def test_flags_that_mean_nothing_are_wrong_usage(person: Person, promoted: Seen, flags: str, said: str) -> None:
    ended = person.types(f"bench --host {HOST} {flags}")
    assert ended.code == 2, ended.all
    assert said in ended.all
