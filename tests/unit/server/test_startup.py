"""Following a server's start: phases, deaths, stale servers and time."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inventory.errors import DeadlineExceeded, ServerError, UnreachableError
from roles.server.health import Health, probe
from roles.server.phases import Startup, read
from roles.server.startup import Started, wait_until_serving

CASES = Path(__file__).parents[2] / "cases" / "server"


@pytest.mark.parametrize("case", sorted(CASES.glob("startup-*.json")), ids=lambda path: path.stem)
def test_phases_of_a_real_start_come_in_order(case: Path) -> None:
    wanted = json.loads(case.read_text())
    seen: list[str | None] = []
    startup = Startup()
    for line in wanted["lines"]:
        startup = read([line], startup)
        if not seen or startup.phase != seen[-1]:
            seen.append(startup.phase)
    assert [phase for phase in seen if phase] == wanted["phases"]
    assert startup.ready


def start(
    texts: list[str], *, healths: list[Health] | None = None, times: Iterator[float] | None = None
) -> tuple[Started, list[str]]:
    phases: list[str] = []
    chunks, answers = iter(texts), iter(healths or [])

    def watch(offset: int, _: int) -> tuple[str, int]:
        text = next(chunks, "")
        return text, offset + len(text)

    started = wait_until_serving(
        watch=watch,
        probe=lambda: next(answers, Health(alive=False)),
        offset=0,
        model="qwen",
        host="ct129",
        timeout_s=100,
        on_phase=lambda phase, _: phases.append(phase),
        clock=_clock(times),
    )
    return started, phases


def _clock(times: Iterator[float] | None) -> Callable[[], float]:
    return lambda: next(times, 1e9) if times else 0.0


def test_lines_cut_between_two_reads_are_read_whole() -> None:
    _, phases = start(
        ["specrail: launch release=r\n(EngineCore pid=1) INFO Loading wei", "ghts took 5.12 seconds\n", ""],
        healths=[Health(alive=False), Health(alive=False), Health(alive=True, models=("qwen",))],
    )
    assert phases == ["launch", "weights loaded"]


def test_a_server_that_ends_is_reported_at_once_with_its_cause() -> None:
    with pytest.raises(ServerError, match=r"ended with status 1 while it started .*: GPU memory ran out"):
        start(
            [
                "specrail: launch release=r\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate\nspecrail: ended status=1\n"
            ]
        )


def test_a_second_launch_means_that_the_first_one_died() -> None:
    with pytest.raises(ServerError, match="ended while it started"):
        start(["specrail: launch release=r\nspecrail: launch release=r\n"])


def test_a_stale_server_with_another_model_is_not_taken_for_ours() -> None:
    with pytest.raises(ServerError, match="it serves llama, not qwen"):
        start([""], healths=[Health(alive=True, models=("llama",))])


def test_a_port_that_somebody_else_holds_is_no_start_although_the_right_model_answers() -> None:
    with pytest.raises(ServerError, match="port 8000 is held by a process that is not this service"):
        start(
            ["specrail: port 8000 is held by a process that is not this service\nspecrail: launch release=r\n"],
            healths=[Health(alive=True, models=("qwen",))],
        )


def test_time_that_runs_out_says_how_far_it_came() -> None:
    with pytest.raises(DeadlineExceeded, match=r"within 100 s \(phase: weights\)"):
        start(["Loading safetensors checkpoint shards: 10%\n"], times=iter([0.0, 1.0, 50.0, 101.0]))


def answers(**paths: tuple[int, str]) -> Callable[[str], tuple[int, str]]:
    def get(path: str) -> tuple[int, str]:
        if path.strip("/").replace("/", "_") not in paths:
            raise UnreachableError("connection refused")
        return paths[path.strip("/").replace("/", "_")]

    return get


@pytest.mark.parametrize(
    ("get", "expected"),
    [
        (answers(), Health(alive=False, detail="connection refused")),
        (answers(health=(503, "")), Health(alive=False, detail="/health answers 503")),
        (answers(health=(200, ""), v1_models=(401, "")), Health(alive=True, detail="/v1/models answers 401")),
        (
            answers(
                health=(200, ""), v1_models=(200, '{"data": [{"id": "qwen"}]}'), version=(200, '{"version": "0.33.0"}')
            ),
            Health(alive=True, models=("qwen",), version="0.33.0"),
        ),
        (
            answers(health=(200, ""), v1_models=(200, "<html>"), version=(404, "")),
            Health(alive=True, models=(), version=None),
        ),
    ],
)
def test_what_a_server_answers(get: Callable[[str], tuple[int, str]], expected: Health) -> None:
    assert probe(get) == expected
