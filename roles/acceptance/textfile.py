"""A watch's numbers for Prometheus' textfile collector (node_exporter)."""

from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

from roles.acceptance.judgement import Judgement
from roles.acceptance.watching import State


def write(path: Path, host: str, state: State, found: Judgement, now_s: float) -> None:
    """Replace the file at once. Raises OSError."""
    registry = CollectorRegistry()
    names = ["host"]

    def gauge(name: str, words: str, value: float | None, unit: str = "") -> None:
        if value is not None:
            Gauge(f"specrail_{name}", words, names, registry=registry, unit=unit).labels(host).set(value)

    gauge("acceptance_alarm", "1 while an alarm goes on", float(state.alarm is not None))
    gauge("acceptance_length", "Mean tokens emitted a round, newest rounds", found.summary.length)
    gauge("acceptance_rate", "Accepted of drafted tokens, newest rounds", found.summary.window.acceptance_rate)
    gauge("speculative_tokens", "Tokens drafted a round", found.summary.k)
    gauge("watched_rounds", "Rounds counted since the watch began", state.rounds)
    gauge("watched_accepted_tokens", "Accepted tokens since the watch began", state.accepted)
    gauge("watched_drafted_tokens", "Drafted tokens since the watch began", state.drafted)
    gauge("watch_timestamp", "When the log was last read", now_s, "seconds")
    rates = Gauge("specrail_acceptance_position_rate", "Share of rounds", [*names, "position"], registry=registry)
    for i, rate in enumerate(found.summary.window.per_position_rates):
        rates.labels(host, str(i)).set(rate)
    write_to_textfile(str(path), registry)
