"""Every wording that vLLM 0.6-0.33 has had for its statistics and its drafts."""

import pytest

from roles.acceptance.loglines import read
from roles.acceptance.summary import summarise
from roles.acceptance.vllm_releases import differ, from_origins, said_version
from roles.acceptance.vllm_spec import stats_of

STATS = [
    "INFO 03-19 10:48:40 [metrics.py:486] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 61.3 tokens/s, Running: 1 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 4.8%, CPU KV cache usage: 0.0%.",
    "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 61.3 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 4.8%, Prefix cache hit rate: 0.0%",
    "INFO 05-09 12:25:53 [loggers.py:111] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 61.3 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 4.8%, Prefix cache hit rate: 0.0%",
    "Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 61.3 tokens/s, Running: 1 reqs, Waiting: 3 reqs, Deferred: 1 reqs, KV fetch: 0 waiting to start, 1 in progress, 0 completed waiting, CPU KV cache usage: 0.1%, Corrupted: 0 reqs, External prefix cache hit rate: 0.0%, MM cache hit rate: 16.7%",
    "8 Engines Aggregated: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 61.3 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 4.8%",
    "(RustFrontend pid=1230) INFO 09-26 07:00:49 [log_stats.rs:273] Avg prompt tput: 672.5 toks/s, Avg generation tput: 61.3 toks/s, Reqs Running: 1, Waiting: 0, GPU KV cache used: 1.8%",
]
NOT_STATS = [
    "Engine 000: Iteration(12): 3 context requests, GPU KV cache usage: 4.8%",
    "DiffusionDecoding metrics: Committed token throughput: 1.00 tokens/s, Mean denoising steps per canvas: 2.00, Mean tokens committed per denoising step: 3.00, Committed: 4 tokens, Denoising steps: 5, Canvas positions evaluated: 6",
    "INFO 03-19 10:48:40 [metrics.py:502] Prefix cache hit rate: GPU: 12.34%, CPU: 0.00%",
]
# The public lines that facts about log formats were taken from: text, then rounds, accepted, drafted, k.
SPEC = [
    ("Mean acceptance length: 2.62, Accepted throughput: 15.60 tokens/s, Drafted throughput: 19.20 tokens/s, Accepted: 156 tokens, Drafted: 192 tokens, Per-position acceptance rate: 0.885, 0.740, Avg Draft acceptance rate: 81.2%", (96, 156, 192, 2)),
    ("Mean acceptance length: 2.87, Accepted throughput: 48.90 tokens/s, Drafted throughput: 157.19 tokens/s, Accepted: 489 tokens, Drafted: 1572 tokens, Per-position acceptance rate: 0.740, 0.473, 0.309, 0.187, 0.099, 0.057, Avg Draft acceptance rate: 31.1%", (262, 489, 1572, 6)),
    ("Mean acceptance length: 2.72, Accepted throughput: 45.49 tokens/s, Drafted throughput: 158.98 tokens/s, Accepted: 455 tokens, Drafted: 1590 tokens, Per-position acceptance rate: 0.728, 0.445, 0.275, 0.151, 0.075, 0.042, Avg Draft acceptance rate: 28.6%", (265, 455, 1590, 6)),
    ("Draft acceptance rate: 42.9%, Mean acceptance length: 2.14, Accepted: 418 tokens, Drafted: 975 tokens, Per-position acceptance rate: 0.800, 0.533, 0.364, 0.251, 0.195", (195, 418, 975, 5)),
    ("Draft acceptance rate: 42.9%, Mean acceptance length: 3.14, Accepted: 418 tokens, Drafted: 975 tokens, Per-position acceptance rate: 0.800, 0.533, 0.364, 0.251, 0.195", (195, 418, 975, 5)),
    ("Draft acceptance rate: 88.8%, Mean acceptance length: 5.44, Accepted throughput: 4.37 tokens/s, Drafted throughput: 4.92 tokens/s, Accepted: 262 tokens, Drafted: 295 tokens, Per-position acceptance rate: 0.983, 0.949, 0.915, 0.881, 0.712", (59, 262, 295, 5)),
]  # fmt: skip


@pytest.mark.parametrize("text", STATS)
def test_statistics_are_read_in_every_wording(text: str) -> None:
    stats = stats_of(text, None)
    assert stats is not None
    assert (stats.generation_per_s, stats.running) == (61.3, 1)


@pytest.mark.parametrize("text", NOT_STATS)
def test_other_lines_are_neither_statistics_nor_drafts(text: str) -> None:
    assert stats_of(text, None) is None
    reading = read([text.encode()])
    assert (reading.windows, reading.thrown_out) == ((), ())


@pytest.mark.parametrize(("text", "counts"), SPEC)
def test_drafts_are_counted_in_every_wording(text: str, counts: tuple[int, int, int, int]) -> None:
    (window,) = read([f"SpecDecoding metrics: {text}".encode()]).windows
    assert (window.rounds, window.accepted, window.drafted, window.k) == counts


def test_the_field_reports_line_is_195_rounds_and_41_8_accepted_tokens_a_second() -> None:
    """Its own "15.90 tokens/s" counts sixteen idle seconds."""
    head = "(APIServer pid=1) INFO 05-09 12:25:53 "
    tail = "Accepted throughput: 15.90 tokens/s, Drafted throughput: 37.08 tokens/s, Accepted: 418 tokens, Drafted: 975 tokens, Per-position acceptance rate: 0.800, 0.533, 0.364, 0.251, 0.195, Avg Draft acceptance rate: 42.9%"
    lines = [
        f"{head}[loggers.py:271] {STATS[2][35:]}",
        f"{head}[metrics.py:101] SpecDecoding metrics: Mean acceptance length: 3.14, {tail}",
    ]
    reading = read(line.encode() for line in lines)
    summary = summarise(reading)
    assert (summary.rounds, summary.k) == (195, 5)
    assert summary.accepted_per_s == pytest.approx(41.8, abs=0.05)
    assert reading.seen[0].since_last_s == pytest.approx(26.3, abs=0.05)


@pytest.mark.parametrize(
    ("origins", "span"),
    [
        ({"loggers.py": 111, "metrics.py": 82}, ("0.8.5", "0.8.5")),
        ({"loggers.py": 123, "metrics.py": 96}, ("0.10.2", "0.10.2")),
        ({"loggers.py": 271, "metrics.py": 101}, ("0.20.0", "0.23.0")),
        ({"loggers.py": 335, "metrics.py": 120}, ("0.32.0", "0.33.0")),
        ({"metrics.py": 120}, ("0.24.0", "0.33.0")),
        ({"loggers.py": 1}, None),
        ({"other.py": 120}, None),
    ],
)
def test_line_numbers_give_the_version_away(origins: dict[str, int], span: tuple[str, str] | None) -> None:
    assert from_origins(origins) == span


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("vLLM API server version 0.20.1", "0.20.1"),
        ("Initializing a V1 LLM engine (v0.33.0) with config:", "0.33.0"),
        ("vLLM API server version 0.20.1.dev1+pr40898", "0.20.1.dev1+pr40898"),
        ("the API server's version is unknown", None),
    ],
)
def test_a_start_says_the_version(text: str, version: str | None) -> None:
    assert said_version(text) == version


def test_spans_that_overlap_may_be_the_same_release() -> None:
    assert not differ("0.20.0-0.23.0", "0.23.0")
    assert differ("0.20.0-0.23.0", "0.24.0-0.25.0")
    assert differ("0.27.1", "0.28.0")
