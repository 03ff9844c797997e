"""`vllm bench serve` on the host as another source of load: its command, its prompts, and its result as ours."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from inventory.errors import ServerError, UsageError
from inventory.shell import Shell, command
from roles.load.arrivals import Arrivals
from roles.load.completion import Completion
from roles.load.event import excerpt
from roles.load.prompts import Prompt, PromptSet, digest
from roles.load.result import LoadResult, Sample

_START_S = 180  # importing vLLM takes ten seconds and more
_SCRIPT = """set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT PIPE TERM
IFS= read -r OPENAI_API_KEY
if [ -n "$OPENAI_API_KEY" ]; then export OPENAI_API_KEY; else unset OPENAI_API_KEY; fi
cat >"$folder/prompts.jsonl"
HF_HUB_OFFLINE=1 VLLM_LOGGING_LEVEL=ERROR "$@" --dataset-path "$folder/prompts.jsonl" \\
  --result-dir "$folder" --result-filename result.json >"$folder/log" 2>&1 || {
  tail -n 20 "$folder/log" >&2
  exit 1
}
cat "$folder/result.json"
"""


@dataclass(frozen=True)
class VllmBench:
    """What `vllm bench serve` is to be asked for.

    vllm:  the command, a path on the host; model: the target's folder there, for its tokenizer
    """

    vllm: str
    model: str
    served_name: str
    base_url: str
    prompts: Sequence[Prompt]
    max_tokens: int
    concurrency: int
    arrivals: Arrivals | None
    temperature: float
    seed: int | None
    extra_body: Mapping[str, object]

    def argv(self) -> list[str]:
        """The command, without where its files are."""
        backend = ("openai", "/v1/completions") if self.prompts[0].raw else ("openai-chat", "/v1/chat/completions")
        words = [self.vllm, "bench", "serve", "--backend", backend[0], "--endpoint", backend[1]]
        words += ["--base-url", self.base_url, "--model", self.model, "--served-model-name", self.served_name]
        # The server has the chat template; the tool would put its own around the prompt as well.
        words += ["--dataset-name", "custom", "--skip-chat-template", "--disable-shuffle"]
        words += ["--num-prompts", str(len(self.prompts)), "--custom-output-len", str(self.max_tokens)]
        words += ["--temperature", f"{self.temperature:g}", "--disable-tqdm", "--save-result", "--save-detailed"]
        if self.arrivals is None:
            words += ["--max-concurrency", str(self.concurrency)]
        else:
            words += ["--request-rate", f"{self.arrivals.rate:g}", "--burstiness", f"{self.arrivals.burstiness:g}"]
            words += ["--seed", str(self.arrivals.seed)]
        more = dict(self.extra_body) | ({} if self.seed is None else {"seed": self.seed})
        return words + (["--extra-body", json.dumps(more)] if more else [])


def sendable(prompts: PromptSet) -> PromptSet:
    """The prompts that it can send: one user message each, all with the chat template or all without.

    They keep their order; a set that lost some has another digest. Raises UsageError when none is left.
    """
    single = [prompt for prompt in prompts if len(prompt.messages) == 1]
    kept = [prompt for prompt in single if prompt.raw == single[0].raw]
    if not kept:
        raise UsageError("vllm bench serve cannot send conversations", tries=["--source specrail"])
    return PromptSet(prompts.name, kept)


def load_with_vllm(shell: Shell, asked: VllmBench, *, api_key: str | None, deadline_s: float) -> LoadResult:
    """Run it on the host, as one exec request, and read its result; nothing of it stays there. No counters in it.

    Raises ServerError when it fails, and like Shell.run.
    """
    script = f"{command('set', '--', *asked.argv())}\n{_SCRIPT}"
    content = "".join(f"{json.dumps({'prompt': prompt.messages[0].content})}\n" for prompt in asked.prompts)
    ended = shell.run(
        script, stdin=f"{api_key or ''}\n{content}".encode(), timeout_s=deadline_s + _START_S, check=False
    )
    try:
        document = json.loads(ended.stdout)
        return read_result(document, asked)
    except (ValueError, KeyError, TypeError):
        said = [line for line in ended.stderr.strip().splitlines() if line.strip()][-3:]
        raise ServerError(
            "vllm bench serve gave no result",
            why=said or [f"status {ended.exit_status}, {len(ended.stdout)} characters"],
            tries=["--source specrail"],
        ) from None


def read_result(document: Mapping[str, object], asked: VllmBench) -> LoadResult:
    """Our result from the JSON of `--save-detailed` (vLLM 0.9-0.33). Raises KeyError, TypeError, ValueError.

    It counts from when a request was sent, also in an open loop, and stops a text at a reasoning parser's field.
    """
    lists = {name: _list(document, name) for name in ("ttfts", "itls", "output_lens", "input_lens", "errors")}
    starts, texts = _list(document, "start_times"), _list(document, "generated_texts")
    first = min(map(float, starts), default=0.0)
    samples = []
    for place, prompt in enumerate(asked.prompts):
        error = str(lists["errors"][place])
        ttft_s = float(lists["ttfts"][place])
        arrivals_s = tuple(accumulate([ttft_s, *map(float, lists["itls"][place])]))
        answer = Completion(
            text=str(texts[place]),
            reasoning="",
            model=None,
            finish_reason=None,
            prompt_tokens=int(lists["input_lens"][place]),
            completion_tokens=int(lists["output_lens"][place]),
            ttft_s=None if error else ttft_s,
            arrivals_s=() if error else arrivals_s,
            latency_s=arrivals_s[-1],
            error="unreadable" if error else None,
            detail=excerpt(error.strip().splitlines()[-1]) if error.strip() else None,
        )
        samples.append(Sample(prompt, float(starts[place]) - first, answer))
    return LoadResult(
        samples=tuple(samples),
        unsent=0,
        wall_s=float(str(document["duration"])),
        started_at=datetime.now(UTC),
        model=asked.served_name,
        prompts=digest(asked.prompts),
        max_tokens=asked.max_tokens,
        concurrency=asked.concurrency if asked.arrivals is None else None,
        temperature=asked.temperature,
        seed=asked.seed,
        extra_body=dict(asked.extra_body),
        counters_before=None,
        counters_after=None,
        arrivals=asked.arrivals,
    )


def _list(document: Mapping[str, object], name: str) -> list[Any]:
    value = document[name]
    if not isinstance(value, list):
        raise TypeError(name)
    return value
