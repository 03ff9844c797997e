"""Result files of `vllm bench serve --save-result` as runs; with --save-detailed also their requests."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from roles.load.files.fields import Source, failures, rates_of, spread_ms
from roles.load.files.streams import requests_in
from roles.load.history import Run
from roles.load.values import known, number, row, text, whole

TOOL = "vllm bench serve"
_SPREADS = {"ttft_s": "ttft", "tpot_s": "tpot", "itl_s": "itl", "e2e_s": "e2el"}


def recognise(document: Mapping[str, object]) -> bool:
    """Whether it is one. vLLM 0.32 was run for this: benchmarks/serve.py."""
    return number(document, "output_throughput") is not None and "model_id" in document


def runs(document: Mapping[str, object], source: Source) -> Iterator[Run]:
    """The run in a result; conditions that it does not say are unknown.

    The dataset is not in the file: prompts are told apart by how many there are and how many tokens they have.
    """
    prompts, prompt_tokens = whole(document, "num_prompts"), whole(document, "total_input_tokens")
    counts = _counts(document)
    requests = requests_in(document)
    conditions = known(
        {
            "tool": TOOL,
            "engine": "vllm" if counts else None,  # its counters were there to be read
            "model": text(document, "model_id"),
            "k": counts["k"] if counts else None,
            "prompts": f"{prompts} prompts, {prompt_tokens} tokens",
            "concurrency": whole(document, "max_concurrency"),
            "rate": (rate := number(document, "request_rate")),
            "load": "closed loop" if rate is None else "open loop",
            "burstiness": None if rate is None else number(document, "burstiness"),
        }
    )
    summary = known(
        {
            "total_tok_s": number(document, "output_throughput"),
            "output_tokens": whole(document, "total_output_tokens"),
            "prompt_tokens": prompt_tokens,
            "requests_ok": whole(document, "completed"),
            "wall_s": number(document, "duration"),
            "request_goodput": number(document, "request_goodput"),
            **{ours: spread_ms(document, theirs) for ours, theirs in _SPREADS.items()},
            **rates_of(requests),
            "requests": requests or None,
        }
    )
    doubts = failures(whole(document, "completed"), whole(document, "failed"))
    at = _date(document.get("date")) or source.at
    yield Run("bench", source.host, source.name, at, conditions, summary, counts, doubts=doubts)


def _counts(document: Mapping[str, object]) -> dict[str, object] | None:
    rounds, drafted, accepted = (
        whole(document, f"spec_decode_{name}") for name in ("num_drafts", "draft_tokens", "accepted_tokens")
    )
    if not rounds or accepted is None:
        return None
    rates = row(document, "spec_decode_per_position_acceptance_rates")
    return {
        "rounds": rounds,
        "accepted": accepted,
        "drafted": drafted or 0,
        "per_position": [round(rate * rounds) for each in rates if (rate := number(each)) is not None],
        "k": round(drafted / rounds) if drafted else None,
    }


def _date(said: object) -> datetime | None:
    # The tool writes its machine's own clock without a zone; UTC is what most servers keep.
    try:
        return datetime.strptime(str(said), "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
