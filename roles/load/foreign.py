"""Results of other benchmarks as runs of the history: `vllm bench serve --save-result`."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from inventory.errors import UsageError
from roles.load.history import Run

_SPREADS = {"ttft_s": "ttft", "tpot_s": "tpot", "itl_s": "itl", "e2e_s": "e2el"}


def read_foreign(path: Path, host: str) -> Run:
    """The run in a result file of `vllm bench serve`; conditions that it does not say are unknown.

    Raises UsageError for a file that cannot be read or is none.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(document, dict) or _number(document, "output_throughput") is None:
        raise UsageError(
            f"{path} is no result of `vllm bench serve`",
            why=["It has no output_throughput."],
            tries=["vllm bench serve ... --save-result"],
        )
    return from_vllm(document, host, path.name, at)


def from_vllm(document: Mapping[str, object], host: str, name: str, at: datetime) -> Run:
    """The run in a parsed result; name stands for the release, at for the time where the file does not say it."""
    summary: dict[str, object] = {
        "total_tok_s": _number(document, "output_throughput"),
        "output_tokens": _number(document, "total_output_tokens"),
        "requests_ok": _number(document, "completed"),
        "wall_s": _number(document, "duration"),
    }
    for ours, theirs in _SPREADS.items():
        spread = {
            "mean": _seconds(document, f"mean_{theirs}_ms"),
            "p50": _seconds(document, f"median_{theirs}_ms"),
            "p99": _seconds(document, f"p99_{theirs}_ms"),
        }
        if any(value is not None for value in spread.values()):
            summary[ours] = spread
    conditions = {
        "tool": "vllm bench serve",
        "model": document.get("model_id"),
        "concurrency": document.get("max_concurrency"),
        "prompts": f"{document.get('num_prompts')} of {name}",
        "k": _tokens(document),
    }
    return Run("bench", host, name, _date(document.get("date")) or at, conditions, summary, _counts(document))


def _counts(document: Mapping[str, object]) -> dict[str, object] | None:
    rounds = _number(document, "spec_decode_num_drafts")
    accepted = _number(document, "spec_decode_accepted_tokens")
    if not rounds or accepted is None:
        return None
    rates = document.get("spec_decode_per_position_acceptance_rates")
    positions = [round(rate * rounds) for rate in rates] if isinstance(rates, list) else []
    return {
        "rounds": int(rounds),
        "accepted": int(accepted),
        "drafted": int(_number(document, "spec_decode_draft_tokens") or 0),
        "per_position": positions,
        "k": _tokens(document),
    }


def _tokens(document: Mapping[str, object]) -> int | None:
    rounds, drafted = (_number(document, f"spec_decode_{name}") for name in ("num_drafts", "draft_tokens"))
    return round(drafted / rounds) if rounds and drafted else None


def _date(text: object) -> datetime | None:
    try:
        return datetime.strptime(str(text), "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def _seconds(document: Mapping[str, object], name: str) -> float | None:
    value = _number(document, name)
    return None if value is None else value / 1e3


def _number(document: Mapping[str, object], name: str) -> float | None:
    value = document.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
