"""Logs of a made-up server: what vLLM would have printed for windows that are drawn from a drafter's rates."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from tests.unit.acceptance.simulate import chances, window_of

_ORIGINS = {"0.27.1": (310, 120), "0.28.0": (310, 120), "0.23.0": (271, 101), "0.32.0": (335, 120)}


def log(
    rates: Sequence[float],
    *,
    windows: int = 30,
    rounds: int = 300,
    version: str = "0.27.1",
    seed: int = 1,
    begin: datetime = datetime(2026, 5, 9, 12, 0, 0),
    factor: float = 1.0,
    engines: Sequence[Sequence[float]] | None = None,
    method: str = "dflash",
    pace: float = 1.0,
) -> bytes:
    """A start and then a statistics and a spec line every ten seconds, for each of the engines."""
    rng = np.random.default_rng(seed)
    stats_line, spec_line = _ORIGINS[version]
    at = begin
    front = "(APIServer pid=7) INFO"
    lines = [
        (
            f"{front} {at:%m-%d %H:%M:%S} [core.py:133] Initializing a V1 LLM engine (v{version}) with config: model='/m', "
            f"speculative_config=SpeculativeConfig(method='{method}', model='/d', num_spec_tokens={len(rates)}), x=1"
        )
    ]
    for _ in range(windows):
        at += timedelta(seconds=10)
        for engine, curve in enumerate(engines or [rates]):
            scaled = np.minimum(np.array(curve) * factor * rng.normal(1, 0.03), 0.99)
            window = window_of(rng.multinomial(rounds, chances(scaled)))
            counts = ", ".join(f"{rate:.3f}" for rate in window.per_position_rates)
            speed = pace * (window.accepted + window.rounds) / 10
            lines += [
                (
                    f"{front} {at:%m-%d %H:%M:%S} [loggers.py:{stats_line}] Engine {engine:03d}: Avg prompt throughput: 0.0 "
                    f"tokens/s, Avg generation throughput: {speed:.1f} tokens/s, Running: 1 reqs, Waiting: 0 reqs"
                ),
                (
                    f"{front} {at:%m-%d %H:%M:%S} [metrics.py:{spec_line}] SpecDecoding metrics: Mean acceptance length: "
                    f"{window.acceptance_length:.2f}, Accepted throughput: {window.accepted / 10:.2f} tokens/s, Drafted "
                    f"throughput: {window.drafted / 10:.2f} tokens/s, Accepted: {window.accepted} tokens, Drafted: "
                    f"{window.drafted} tokens, Per-position acceptance rate: {counts}, Avg Draft acceptance rate: "
                    f"{100 * (window.acceptance_rate or 0):.1f}%"
                ),
            ]
    return ("\n".join(lines) + "\n").encode()
