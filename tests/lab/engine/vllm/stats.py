"""What the engine counts, and the two lines that it logs about a window."""

from bisect import bisect_left
from dataclasses import dataclass, field

from vllm.log import API

_LATENCY_S = "0.3 0.5 0.8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 1920 7680"
_FIRST_TOKEN_S = "0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10 20 40 80 160 640 2560"
_TOKEN_S = "0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1 2.5 5 7.5 10 20 40 80"
_TOKENS = "1 2 5 10 20 50 100 200 500 1000 2000 5000 10000 20000 50000 100000 200000"
_STEP_TOKENS = "1 8 16 32 64 128 256 512 1024 2048 4096 8192 16384"


class Histogram:
    """Counts of observations by upper bound, as Prometheus wants them."""

    def __init__(self, bounds: str) -> None:
        self.total = 0.0
        self._bounds = [float(bound) for bound in bounds.split()]
        self._counts = [0] * (len(self._bounds) + 1)

    def observe(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """How many values were observed."""
        return sum(self._counts)

    def cumulative(self) -> list[tuple[str, int]]:
        """Pairs of upper bound and the number of values that are not above it."""
        rows, below = [], 0
        for bound, count in zip((*self._bounds, "+Inf"), self._counts, strict=True):
            below += count
            rows.append((str(bound), below))
        return rows


@dataclass
class Counts:
    """Exact counts since the start. A round is one verify step of one request; `accepted` leaves the bonus token out."""

    k: int
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    accepted_at: list[int] = field(default_factory=list)
    prompt_tokens: int = 0
    generation_tokens: int = 0
    finished: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("stop", "length", "abort", "error", "repetition"), 0)
    )
    first_token: Histogram = field(default_factory=lambda: Histogram(_FIRST_TOKEN_S))
    inter_token: Histogram = field(default_factory=lambda: Histogram(_TOKEN_S))
    per_output_token: Histogram = field(default_factory=lambda: Histogram(_TOKEN_S))
    end_to_end: Histogram = field(default_factory=lambda: Histogram(_LATENCY_S))
    queued: Histogram = field(default_factory=lambda: Histogram(_LATENCY_S))
    prefilled: Histogram = field(default_factory=lambda: Histogram(_LATENCY_S))
    decoded: Histogram = field(default_factory=lambda: Histogram(_LATENCY_S))
    request_prompt: Histogram = field(default_factory=lambda: Histogram(_TOKENS))
    request_generation: Histogram = field(default_factory=lambda: Histogram(_TOKENS))
    step_tokens: Histogram = field(default_factory=lambda: Histogram(_STEP_TOKENS))

    def __post_init__(self) -> None:
        self.accepted_at = [0] * self.k

    def round(self, drafted: int, accepted: int) -> None:
        """Count one round with so many drafted tokens, of which the first `accepted` were accepted."""
        self.rounds += 1
        self.drafted += drafted
        self.accepted += accepted
        for position in range(accepted):
            self.accepted_at[position] += 1


@dataclass(frozen=True)
class Load:
    """What the scheduler holds at a moment; kv_usage is a fraction."""

    running: int
    waiting: int
    kv_usage: float


class WindowLog:
    """Logs the stats line, and the SpecDecoding line where there were rounds, as vLLM 0.20-0.23 does it.

    Two quirks are kept: a window without traffic is logged once, then there is silence; and the spec line's throughputs
    are over the time since the last spec line, so idle time dilutes them.
    """

    def __init__(self, counts: Counts, now_s: float) -> None:
        self._counts = counts
        self._window_from_s = self._rounds_from_s = now_s
        self._prompt = self._generation = self._rounds = self._accepted = self._drafted = 0
        self._accepted_at = [0] * counts.k
        self._was_busy = False

    def write(self, now_s: float, load: Load) -> None:
        """Log the window that ends now, and begin the next."""
        counts, elapsed_s = self._counts, now_s - self._window_from_s
        prompt, generation = counts.prompt_tokens - self._prompt, counts.generation_tokens - self._generation
        busy = bool(prompt or generation)
        level = "INFO" if busy or self._was_busy else "DEBUG"
        API.log(
            level,
            "loggers.py:271",
            f"Engine 000: Avg prompt throughput: {prompt / elapsed_s:.1f} tokens/s, "
            f"Avg generation throughput: {generation / elapsed_s:.1f} tokens/s, Running: {load.running} reqs, "
            f"Waiting: {load.waiting} reqs, GPU KV cache usage: {load.kv_usage * 100:.1f}%, "
            "Prefix cache hit rate: 0.0%",
        )
        self._window_from_s, self._was_busy = now_s, busy
        self._prompt, self._generation = counts.prompt_tokens, counts.generation_tokens
        if counts.rounds > self._rounds:
            self._write_rounds(level, now_s)

    def _write_rounds(self, level: str, now_s: float) -> None:
        counts, elapsed_s = self._counts, now_s - self._rounds_from_s
        rounds, accepted = counts.rounds - self._rounds, counts.accepted - self._accepted
        drafted = counts.drafted - self._drafted
        rates = [(now - then) / rounds for now, then in zip(counts.accepted_at, self._accepted_at, strict=True)]
        API.log(
            level,
            "metrics.py:101",
            f"SpecDecoding metrics: Mean acceptance length: {1 + accepted / rounds:.2f}, "
            f"Accepted throughput: {accepted / elapsed_s:.2f} tokens/s, "
            f"Drafted throughput: {drafted / elapsed_s:.2f} tokens/s, "
            f"Accepted: {accepted} tokens, Drafted: {drafted} tokens, "
            f"Per-position acceptance rate: {', '.join(f'{rate:.3f}' for rate in rates)}, "
            f"Avg Draft acceptance rate: {accepted / drafted * 100:.1f}%",
        )
        self._rounds_from_s = now_s
        self._rounds, self._accepted, self._drafted = counts.rounds, counts.accepted, counts.drafted
        self._accepted_at = list(counts.accepted_at)
