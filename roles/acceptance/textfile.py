"""A watch's numbers for Prometheus' textfile collector (node_exporter): one file for all hosts, a label for each."""

from collections.abc import Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

from roles.acceptance.judgement import Judgement
from roles.acceptance.watching import State

_METRICS = {
    "watch_up": "1 when the host's log could be read at the last look",
    "watch_server_down": "1 while an alarm goes on because the server does not answer",
    "acceptance_alarm": "1 while an alarm goes on",
    "acceptance_length": "Mean tokens emitted a round, newest rounds",
    "acceptance_rate": "Accepted of drafted tokens, newest rounds",
    "speculative_tokens": "Tokens drafted a round",
    "watched_rounds": "Rounds counted since the watch began",
    "watched_accepted_tokens": "Accepted tokens since the watch began",
    "watched_drafted_tokens": "Drafted tokens since the watch began",
    "watch_timestamp_seconds": "When the log was last read",
}


def write(path: Path, looks: Mapping[str, tuple[State, Judgement | None]], now_s: float) -> None:
    """Replace the file at once. looks: by host; no judgement where the host could not be read. Raises OSError."""
    registry = CollectorRegistry()
    gauges = {name: Gauge(f"specrail_{name}", words, ["host"], registry=registry) for name, words in _METRICS.items()}
    rates = Gauge("specrail_acceptance_position_rate", "Share of rounds", ["host", "position"], registry=registry)
    for host, (state, found) in looks.items():
        for name, value in _values(state, found, now_s).items():
            if value is not None:
                gauges[name].labels(host).set(value)
        for i, rate in enumerate(found.summary.window.per_position_rates if found else ()):
            rates.labels(host, str(i)).set(rate)
    write_to_textfile(str(path), registry)


def _values(state: State, found: Judgement | None, now_s: float) -> dict[str, float | None]:
    """By the names of _METRICS; None for what is not known."""
    summary = found.summary if found else None
    return {
        "watch_up": float(found is not None),
        "watch_server_down": float(state.down),
        "acceptance_alarm": float(state.alarm is not None),
        "acceptance_length": summary.length if summary else None,
        "acceptance_rate": summary.window.acceptance_rate if summary else None,
        "speculative_tokens": summary.k if summary else None,
        "watched_rounds": state.rounds,
        "watched_accepted_tokens": state.accepted,
        "watched_drafted_tokens": state.drafted,
        "watch_timestamp_seconds": now_s if found else None,
    }
