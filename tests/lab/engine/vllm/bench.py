"""`vllm bench serve`: asks a server that runs, and saves what it measured under vLLM's names."""

import argparse
import http.client
import json
import os
import random
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Seen:
    """One request as the client saw it; times in seconds, start on the monotonic clock."""

    start: float = 0.0
    ttft: float = 0.0
    itl: list[float] = field(default_factory=list)
    text: str = ""
    prompt_tokens: int = 0
    tokens: int = 0
    error: str = ""


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the flags that people use."""
    parser.add_argument("--backend", choices=("openai", "openai-chat", "vllm"), default="openai")
    parser.add_argument("--base-url", default="http://127.0.0.1:8000")
    parser.add_argument("--endpoint", default="/v1/completions")
    parser.add_argument("--model", required=True)
    parser.add_argument("--served-model-name", default=None)
    parser.add_argument("--tokenizer", default=None)
    parser.add_argument("--dataset-name", choices=("custom",), default="custom")
    parser.add_argument("--dataset-path", required=True)
    parser.add_argument("--custom-output-len", type=int, default=256)
    parser.add_argument("--num-prompts", type=int, default=1000)
    parser.add_argument("--max-concurrency", type=int, default=None)
    parser.add_argument("--request-rate", type=float, default=float("inf"))
    parser.add_argument("--burstiness", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--temperature", type=float, default=None)
    parser.add_argument("--extra-body", type=json.loads, default=None)
    parser.add_argument("--result-dir", default=".")
    parser.add_argument("--result-filename", default="result.json")
    for flag in ("--skip-chat-template", "--disable-shuffle", "--disable-tqdm", "--save-result", "--save-detailed"):
        parser.add_argument(flag, action="store_true")


def run(arguments: argparse.Namespace) -> int:
    """Make the load; returns the exit status."""
    lines = Path(arguments.dataset_path).read_text(encoding="utf-8").splitlines()
    prompts = [json.loads(line)["prompt"] for line in lines][: arguments.num_prompts]
    due = _arrivals(arguments, len(prompts))
    began = time.perf_counter()
    with ThreadPoolExecutor(max_workers=arguments.max_concurrency or len(prompts)) as pool:
        asked = []
        for prompt, at in zip(prompts, due):
            time.sleep(max(0.0, began + at - time.perf_counter()))
            asked.append(pool.submit(_ask, arguments, prompt))
        seen = [one.result() for one in asked]
    result = _result(arguments, seen, time.perf_counter() - began)
    print(f"Successful requests: {result['completed']}")
    if arguments.save_result:
        (Path(arguments.result_dir) / arguments.result_filename).write_text(json.dumps(result), encoding="utf-8")
    return 0


def _arrivals(arguments: argparse.Namespace, count: int) -> Sequence[float]:
    if arguments.request_rate == float("inf"):
        return [0.0] * count
    draw, at, times = random.Random(arguments.seed), 0.0, []
    for _ in range(count):
        at += draw.gammavariate(arguments.burstiness, 1 / (arguments.request_rate * arguments.burstiness))
        times.append(at)
    scale = count / arguments.request_rate / times[-1]
    return [scale * time_s for time_s in times]


def _ask(arguments: argparse.Namespace, prompt: str) -> Seen:
    seen = Seen()
    chat = arguments.backend == "openai-chat"
    body: dict[str, Any] = {
        "model": arguments.served_model_name or arguments.model,
        "max_completion_tokens" if chat else "max_tokens": arguments.custom_output_len,
        "stream": True,
        "stream_options": {"include_usage": True},
        **({"messages": [{"role": "user", "content": prompt}]} if chat else {"prompt": prompt}),
        **({} if arguments.temperature is None else {"temperature": arguments.temperature}),
        **(arguments.extra_body or {}),
    }
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("OPENAI_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    parts = urlsplit(arguments.base_url)
    line = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)
    last = seen.start = time.perf_counter()
    try:
        line.request("POST", arguments.endpoint, json.dumps(body), headers)
        answer = line.getresponse()
        if answer.status != 200:
            seen.error = answer.reason
            return seen
        while text := answer.readline():
            if not text.startswith(b"data: {"):
                continue
            event, now = json.loads(text[6:]), time.perf_counter()
            if choices := event["choices"]:
                seen.text += (choices[0].get("delta") or choices[0]).get("content" if chat else "text") or ""
                if seen.ttft:
                    seen.itl.append(now - last)
                else:
                    seen.ttft = now - seen.start
                last = now
            elif usage := event.get("usage"):
                seen.tokens, seen.prompt_tokens = usage["completion_tokens"], usage["prompt_tokens"]
    except (OSError, ValueError, http.client.HTTPException) as error:
        seen.error = repr(error)
    finally:
        line.close()
    return seen


def _result(arguments: argparse.Namespace, seen: Sequence[Seen], duration: float) -> dict[str, Any]:
    good = [one for one in seen if not one.error]
    tokens = sum(one.tokens for one in good)
    result: dict[str, Any] = {
        "date": time.strftime("%Y%m%d-%H%M%S"),
        "backend": arguments.backend,
        "model_id": arguments.model,
        "num_prompts": len(seen),
        "request_rate": arguments.request_rate if arguments.request_rate < float("inf") else "inf",
        "burstiness": arguments.burstiness,
        "max_concurrency": arguments.max_concurrency,
        "duration": duration,
        "completed": len(good),
        "failed": len(seen) - len(good),
        "total_output_tokens": tokens,
        "output_throughput": tokens / duration,
    }
    tpots = [sum(one.itl) / (one.tokens - 1) for one in good if one.tokens > 1]
    for name, values in (("ttft", [one.ttft for one in good]), ("tpot", tpots)):
        if values:
            result[f"mean_{name}_ms"] = 1e3 * statistics.fmean(values)
            result[f"median_{name}_ms"] = 1e3 * statistics.median(values)
    if arguments.save_detailed:
        result |= {
            "input_lens": [one.prompt_tokens for one in seen],
            "output_lens": [one.tokens for one in seen],
            "ttfts": [one.ttft for one in seen],
            "itls": [one.itl for one in seen],
            "start_times": [one.start for one in seen],
            "generated_texts": [one.text for one in seen],
            "errors": [one.error for one in seen],
        }
    return result
