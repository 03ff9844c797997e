"""What a bench's flags and the inventory come to."""

import json
import math
from pathlib import Path

import pytest

from inventory.errors import UsageError
from inventory.models import Bench
from inventory.models import Slo as WantedSlo
from playbooks.bench_work import Options, left_out, work_of
from roles.load.arrivals import Arrivals
from roles.load.slo import Slo


def test_without_flags_the_inventory_decides() -> None:
    work = work_of(Options(), Bench(prompts=7, max_tokens=99, concurrency=3, slo=WantedSlo(ttft_ms=500, e2e_s=10)))
    assert (len(work.prompts), work.max_tokens, work.concurrency, work.arrivals) == (7, 99, 3, None)
    assert work.slo == Slo(ttft_s=0.5, e2e_s=10)
    assert (work.temperature, work.seed, work.extra_body) == (0.0, None, {})
    assert (work.place, work.source, work.words) == ("controller", "specrail", "3 at a time")


def test_flags_come_first() -> None:
    options = Options(concurrency="5", max_tokens="11", temperature="0", slo="tpot:30ms", seed="0", thinking="on")
    work = work_of(options, Bench(slo=WantedSlo(ttft_ms=1)))
    assert (work.concurrency, work.max_tokens, work.seed) == (5, 11, 0)
    assert work.slo == Slo(tpot_s=0.03)
    assert work.extra_body == {"chat_template_kwargs": {"enable_thinking": True}}


@pytest.mark.parametrize(
    ("options", "arrivals"),
    [
        (Options(rate="2"), Arrivals(2)),
        (Options(rate="0.5", burstiness="0.25", seed="9"), Arrivals(0.5, 0.25, 9)),
        (Options(rate="3", burstiness="even"), Arrivals(3, math.inf)),
    ],
)
def test_a_rate_is_an_open_loop(options: Options, arrivals: Arrivals) -> None:
    assert work_of(options, Bench()).arrivals == arrivals


@pytest.mark.parametrize(
    ("options", "wanted", "warmup"),
    [
        (Options(concurrency="8"), 2, 8),  # so that batches of eight are compiled before they are timed
        (Options(concurrency="1"), 2, 2),
        (Options(concurrency="8"), 0, 0),
        (Options(rate="4"), 2, 2),
    ],
)
def test_as_many_warm_up_as_will_run_at_once(options: Options, wanted: int, warmup: int) -> None:
    assert work_of(options, Bench(warmup=wanted)).warmup == warmup


def test_thinking_joins_what_the_template_is_given_anyway() -> None:
    body = '{"ignore_eos": true, "chat_template_kwargs": {"tools": 1}}'
    assert work_of(Options(extra_body=body, thinking="off"), Bench()).extra_body == {
        "ignore_eos": True,
        "chat_template_kwargs": {"tools": 1, "enable_thinking": False},
    }


def test_prompts_are_a_number_a_set_or_a_file_of_which_so_many_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine.jsonl", "odd:2"):
        Path(name).write_text("".join(f'{{"prompt": "prompt {number}"}}\n' for number in range(5)))
    counts = {
        wanted: len(work_of(Options(prompts=wanted), Bench()).prompts)
        for wanted in ("4", "std-50", "std-50:6", "mine.jsonl", "mine.jsonl:3", "odd:2", "odd:2:1")
    }
    assert list(counts.values()) == [4, 50, 6, 5, 3, 5, 1]


def test_vllms_own_client_runs_on_the_host() -> None:
    work = work_of(Options(source="vllm"), Bench())
    assert work.place == "host"
    assert all(len(prompt.messages) == 1 for prompt in work.prompts)
    with pytest.raises(UsageError, match="runs on the host"):
        work_of(Options(source="vllm", place="controller"), Bench())


def test_what_vllms_own_tool_cannot_send_is_counted(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(json.dumps({"messages": each}) for each in (talk[:1], talk, talk[2:])))
    kept = [work_of(Options(prompts=str(path), source=source), Bench()) for source in ("vllm", "specrail")]
    assert [(len(work.prompts), work.left_out) for work in kept] == [(2, 1), (3, 0)]
    (said,) = left_out(kept[0])
    assert said.message.startswith("1 of 3 prompts were left out: ")
    assert left_out(kept[1]) == []
