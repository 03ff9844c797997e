"""The command line of `vllm`: the flags that people use, read as vLLM reads them."""

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

from vllm.bench import describe
from vllm.features import VERSION

_VALUES: dict[str, Callable[[str], Any]] = {
    "--dtype": str,
    "--max-num-seqs": int,
    "--max-num-batched-tokens": int,
    "--block-size": int,
    "--swap-space": float,
    "--cpu-offload-gb": float,
    "--kv-cache-dtype": str,
    "--kv-cache-memory-bytes": int,
    "--quantization": str,
    "--load-format": str,
    "--download-dir": str,
    "--tokenizer": str,
    "--tokenizer-mode": str,
    "--revision": str,
    "--code-revision": str,
    "--tokenizer-revision": str,
    "--config-format": str,
    "--generation-config": str,
    "--override-generation-config": json.loads,
    "--hf-overrides": json.loads,
    "--attention-backend": str,
    "--attention-config": json.loads,
    "--compilation-config": json.loads,
    "--distributed-executor-backend": str,
    "--pipeline-parallel-size": int,
    "--data-parallel-size": int,
    "--max-logprobs": int,
    "--limit-mm-per-prompt": json.loads,
    "--mm-processor-kwargs": json.loads,
    "--reasoning-parser": str,
    "--tool-call-parser": str,
    "--chat-template": str,
    "--chat-template-content-format": str,
    "--response-role": str,
    "--root-path": str,
    "--uvicorn-log-level": str,
    "--api-server-count": int,
    "--shutdown-timeout": float,
    "--scheduling-policy": str,
    "--runner": str,
}
_SWITCHES = (
    "--enforce-eager",
    "--trust-remote-code",
    "--enable-prefix-caching",
    "--enable-chunked-prefill",
    "--async-scheduling",
    "--disable-hybrid-kv-cache-manager",
    "--disable-custom-all-reduce",
    "--enable-auto-tool-choice",
    "--enable-expert-parallel",
    "--enable-prompt-tokens-details",
    "--enable-server-load-tracking",
    "--enable-force-include-usage",
    "--disable-log-stats",
    "--enable-log-requests",
    "--disable-uvicorn-access-log",
    "--aggregate-engine-logging",
    "--language-model-only",
    "--skip-mm-profiling",
)


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Read the command line; like argparse, ends the process with status 2 and a usage for what it does not know."""
    parser = argparse.ArgumentParser(prog="vllm", description="vLLM CLI")
    parser.add_argument("-v", "--version", action="version", version=VERSION)
    commands = parser.add_subparsers(dest="subparser")
    _describe(commands.add_parser("serve", usage="vllm serve [model_tag] [options]"))
    bench = commands.add_parser("bench", usage="vllm bench <bench_type> [options]")
    describe(bench.add_subparsers(dest="bench_type", required=True).add_parser("serve"))
    namespace = parser.parse_args([_dashed(word) for word in words])
    if namespace.subparser is None:
        parser.print_help()
        parser.exit()
    return namespace


def non_default(arguments: argparse.Namespace) -> dict[str, object]:
    """Arguments that were given, under the names that vLLM logs them with."""
    defaults = parse(["serve"])
    given = {name: value for name, value in vars(arguments).items() if value != getattr(defaults, name)}
    return {**given, "model": arguments.model_tag}


def _describe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model_tag", nargs="?", default="Qwen/Qwen3-0.6B")
    parser.add_argument("--host", default=None)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--api-key", nargs="*", default=None)
    parser.add_argument("--served-model-name", nargs="+", default=None)
    parser.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)
    parser.add_argument("--max-model-len", type=_length, default=None)
    parser.add_argument("--gpu-memory-utilization", type=float, default=0.9)
    parser.add_argument("--speculative-config", "-sc", type=_json, default=None)
    parser.add_argument("--seed", type=int, default=0)
    for flag, kind in _VALUES.items():
        parser.add_argument(flag, type=kind, default=None)
    for flag in _SWITCHES:
        parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=None)


def _dashed(word: str) -> str:
    """`--max_model_len=8` means `--max-model-len=8`, as vLLM has it."""
    if not word.startswith("--"):
        return word
    name, equals, value = word.partition("=")
    return name.replace("_", "-") + equals + value


def _length(text: str) -> int:
    """Read 8192, 8k (8000) or 8K (8192)."""
    units = {"k": 1000, "K": 1024, "m": 1_000_000, "M": 1024 * 1024}
    return int(float(text[:-1]) * units[text[-1]]) if text[-1:] in units else int(text)


def _json(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"Value {text} cannot be converted to {json.loads}.") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"Value {text} cannot be converted to {dict}.")
    return value
