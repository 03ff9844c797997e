"""Single requests as vLLM's and SGLang's benchmarks write them with details: one list for each value, in step."""

from itertools import count, repeat

from roles.load.values import number, row


def requests_in(document: object) -> list[dict[str, object]]:
    """Each whole answer; [] where the file has no details. Times in seconds.

    A prompt is named by its place and length: equal names in two files are the same prompt where the files' conditions
    say that the prompts are the same.
    """
    ttfts, gaps = row(document, "ttfts"), row(document, "itls")
    lengths, outputs = row(document, "input_lens"), row(document, "output_lens")
    if not ttfts or not len(ttfts) == len(gaps) == len(lengths) == len(outputs):
        return []
    latencies = row(document, "latencies") or repeat(None)
    starts = row(document, "start_times") or repeat(None)
    errors = row(document, "errors") or repeat("")
    began = min((start for start in row(document, "start_times") if isinstance(start, int | float)), default=0.0)
    found: list[dict[str, object]] = []
    for place, ttft, gap, length, tokens, latency, start, error in zip(
        count(), ttfts, gaps, lengths, outputs, latencies, starts, errors, strict=False
    ):
        ttft_s, latency_s = number(ttft), number(latency)
        if error or ttft_s is None or not isinstance(tokens, int):
            continue
        if latency_s is None:
            latency_s = ttft_s + sum(each for each in gap if isinstance(each, int | float)) if gap else ttft_s
        started_s = number(start)
        found.append(
            {
                "prompt": f"{place}:{length}",
                "kind": "",
                "started_s": None if started_s is None else round(started_s - began, 6),
                "ttft_s": ttft_s,
                "latency_s": latency_s,
                "tokens": tokens,
            }
        )
    return found
