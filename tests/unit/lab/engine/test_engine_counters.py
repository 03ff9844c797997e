"""The stand-in engine counts exactly, as vLLM does: /metrics and log lines agree, and identities hold."""

import re
from collections.abc import Callable

from tests.unit.lab.engine.process import Engine, Launch

ROUNDS = "vllm:spec_decode_num_drafts_total"
DRAFTED = "vllm:spec_decode_num_draft_tokens_total"
ACCEPTED = "vllm:spec_decode_num_accepted_tokens_total"
PROMPTS = [f"Tell me {number} things about lighthouses" for number in range(20)]
SPEC_LINE = re.compile(
    r"\(APIServer pid=\d+\) INFO \d\d-\d\d \d\d:\d\d:\d\d \[metrics\.py:101\] SpecDecoding metrics: "
    r"Mean acceptance length: (?P<length>[\d.]+), Accepted throughput: [\d.]+ tokens/s, "
    r"Drafted throughput: [\d.]+ tokens/s, Accepted: (?P<accepted>\d+) tokens, Drafted: (?P<drafted>\d+) tokens, "
    r"Per-position acceptance rate: (?P<rates>\d\.\d{3}(?:, \d\.\d{3})*), Avg Draft acceptance rate: [\d.]+%"
)
STATS_LINE = re.compile(
    r"(?P<level>INFO|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d \[loggers\.py:271\] Engine 000: Avg prompt throughput: "
    r"(?P<prompt>[\d.]+) tokens/s, Avg generation throughput: (?P<generation>[\d.]+) tokens/s, Running: \d+ reqs, "
    r"Waiting: \d+ reqs, GPU KV cache usage: [\d.]+%, Prefix cache hit rate: 0\.0%"
)


def per_position(metrics: dict[str, float], k: int) -> list[float]:
    name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
    return [metrics[f'{name}{{position="{position}"}}'] for position in range(k)]


def test_counters_keep_their_identities(launch: Callable[..., Launch]) -> None:
    with Engine(launch(k=15, clock=200)) as engine:
        engine.ready().chats(PROMPTS, max_tokens=64)
        metrics = engine.metrics()
    positions = per_position(metrics, 15)
    assert metrics[DRAFTED] == 15 * metrics[ROUNDS]
    assert metrics[ACCEPTED] == sum(positions)
    assert positions == sorted(positions, reverse=True)
    generated = metrics["vllm:generation_tokens_total"]
    assert generated == len(PROMPTS) * 64
    # Each request's first token comes with its prompt; a last round may accept more than was asked for.
    assert 0 <= len(PROMPTS) + metrics[ROUNDS] + metrics[ACCEPTED] - generated <= 15 * len(PROMPTS)
    assert metrics["vllm:inter_token_latency_seconds_count"] == metrics[ROUNDS]
    assert metrics["vllm:time_to_first_token_seconds_count"] == len(PROMPTS)
    assert metrics['vllm:e2e_request_latency_seconds_bucket{le="+Inf"}'] == len(PROMPTS)
    assert metrics['vllm:request_success_total{finished_reason="length"}'] == len(PROMPTS)
    assert metrics["vllm:num_requests_running"] == metrics["vllm:kv_cache_usage_perc"] == 0
    assert metrics["vllm:spec_decode_num_drafts_created"] > 1e9


def test_log_windows_add_up_to_the_counters(launch: Callable[..., Launch]) -> None:
    with Engine(launch(k=5, clock=100)) as engine:
        engine.ready().chats(PROMPTS * 2, max_tokens=100, concurrency=4)
        metrics = engine.metrics()

        def drafted() -> int:
            return sum(int(found["drafted"]) for line in engine.log if (found := SPEC_LINE.fullmatch(line)))

        # Not the first idle line: on a busy machine a window may pass between two requests.
        engine.wait_until(lambda: drafted() >= metrics[DRAFTED], "window that completes the counters")
        lines = [found for line in engine.log if (found := SPEC_LINE.fullmatch(line))]
    assert sum("SpecDecoding" in line for line in engine.log) == len(lines) > 1
    assert sum(int(line["accepted"]) for line in lines) == metrics[ACCEPTED]
    assert sum(int(line["drafted"]) for line in lines) == metrics[DRAFTED]
    for line in lines:
        rates = [float(rate) for rate in line["rates"].split(", ")]
        assert len(rates) == 5
        assert abs(float(line["length"]) - 1 - sum(rates)) < 0.01


def test_an_idle_window_is_logged_once_and_then_nothing(launch: Callable[..., Launch]) -> None:
    variables = {"VLLM_LOGGING_LEVEL": "DEBUG", "VLLM_LOG_STATS_INTERVAL": "5"}
    with Engine(launch(k=5, clock=100, environment=variables)) as engine:
        engine.ready().chat("Hello")
        engine.wait_for("DEBUG", times=4)
        lines = [found for line in engine.log if (found := STATS_LINE.search(line))]
    levels = [line["level"] for line in lines]
    busy = [index for index, line in enumerate(lines) if line["generation"] != "0.0"]
    assert levels[: busy[0]] == ["DEBUG"] * busy[0]
    assert levels[busy[0] : busy[-1] + 2] == ["INFO"] * (len(busy) + 1)
    assert set(levels[busy[-1] + 2 :]) == {"DEBUG"}


def test_prompts_decide_counts_and_text_whatever_the_order(launch: Callable[..., Launch]) -> None:
    seen = []
    for prompts, concurrency in ((PROMPTS, 4), (PROMPTS[::-1], 1)):
        with Engine(launch(k=5, clock=500)) as engine:
            answers = engine.ready().chats(prompts, concurrency=concurrency)
            texts = {answer["choices"][0]["message"]["content"] for answer in answers}
            seen.append((texts, per_position(engine.metrics(), 5)))
    assert seen[0] == seen[1]


def test_without_speculation_the_text_is_the_same_and_no_round_is_counted(launch: Callable[..., Launch]) -> None:
    with Engine(launch(k=5, clock=500)) as drafting, Engine(launch(clock=500)) as plain:
        expected = drafting.ready().chat(PROMPTS[0])["choices"]
        assert plain.ready().chat(PROMPTS[0])["choices"] == expected
        plain.wait_for("Engine 000")
        assert not any("spec_decode" in name for name in plain.metrics())
    assert "SpecDecoding" not in plain.text


def test_without_log_stats_nothing_is_counted(launch: Callable[..., Launch]) -> None:
    flags = ("--tensor-parallel-size", "2", "--disable-log-stats")
    with Engine(launch(k=5, clock=500, flags=flags)) as engine:
        engine.ready().chat("Hello")
        assert not any(name.startswith("vllm:") for name in engine.metrics())
