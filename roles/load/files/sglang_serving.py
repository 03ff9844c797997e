"""Result lines of SGLang's `bench_serving --output-file` as runs."""

from collections.abc import Iterator, Mapping

from roles.load.files.fields import Source, rates_of, spread_ms
from roles.load.files.streams import requests_in
from roles.load.history import Run
from roles.load.sglang import conditions_in
from roles.load.values import at, known, number, whole

TOOL = "sglang bench_serving"
_SPREADS = {"ttft_s": "ttft", "tpot_s": "tpot", "itl_s": "itl", "e2e_s": "e2e_latency"}


def recognise(document: Mapping[str, object]) -> bool:
    """Whether it is one. SGLang 0.5.23 was run for this: benchmark/serving.py."""
    return number(document, "output_throughput") is not None and "dataset_name" in document and "backend" in document


def runs(document: Mapping[str, object], source: Source) -> Iterator[Run]:
    """The run in a result line. Its server_info says how tokens are drafted, where the server was SGLang."""
    requests = requests_in(document)
    length = number(document, "accept_length")
    completed = whole(document, "completed")
    conditions = {
        **known(
            {
                "tool": TOOL,
                "prompts": f"{document.get('dataset_name')}: {completed} prompts, "
                f"{whole(document, 'total_input_tokens')} tokens",
                "concurrency": whole(document, "max_concurrency"),
                "rate": (rate := number(document, "request_rate")),
                "load": "closed loop" if rate is None else "open loop",
                "max_tokens": _most_tokens(document),
            }
        ),
        **_server(document),
    }
    summary = known(
        {
            "total_tok_s": number(document, "output_throughput"),
            "output_tokens": whole(document, "total_output_tokens"),
            "prompt_tokens": whole(document, "total_input_tokens"),
            "requests_ok": completed,
            "wall_s": number(document, "duration"),
            "acceptance_length": length,
            **{ours: spread_ms(document, theirs) for ours, theirs in _SPREADS.items()},
            **rates_of(requests),
            "requests": requests or None,
        }
    )
    doubts = (
        ()
        if length is None
        else (
            {
                "kind": "since-start",
                "message": "the acceptance length is the server's mean since its start, not of this run alone",
                "spoils": False,
                "prompts": [],
            },
        )
    )
    yield Run("bench", source.host, source.name, source.at, conditions, summary, doubts=doubts)


def _server(document: Mapping[str, object]) -> dict[str, object]:
    info = at(document, "server_info")
    if isinstance(info, Mapping):
        return conditions_in(info)
    backend = str(document.get("backend"))
    return known({"engine": next((name for name in ("sglang", "vllm") if name in backend), None)})


def _most_tokens(document: Mapping[str, object]) -> int | None:
    if str(document.get("dataset_name")).startswith("random") and number(document, "random_range_ratio") == 1:
        return whole(document, "random_output_len")
    return whole(document, "sharegpt_output_len")
