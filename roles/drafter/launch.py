"""What is passed to the engine, as a person writes it: --speculative-config, and what must fit it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from inventory.errors import UsageError
from inventory.models import Drafter, Server
from roles.drafter import values
from roles.drafter.finding import Finding

_OWN = {"method", "model", "num_speculative_tokens"}
_MOST_TOKENS = 64  # as in the inventory
_FILE_BYTES = 1_048_576

# Beside speculative_config, in the spelling of vLLM's own options.
_FLAGS = {
    "max_num_batched_tokens": "--max-num-batched-tokens",
    "max_num_seqs": "--max-num-seqs",
    "compilation_config": "--compilation-config",
    "kv_cache_dtype": "--kv-cache-dtype",
    "attention_backend": "--attention-backend",
}


@dataclass(frozen=True)
class Launch:
    """A launch as it was written. None: not said.

    method, model, tokens: as in --speculative-config
    options:               its other keys
    server:                what else was said, the engine's defaults where nothing was; None when it is not known
    findings:              what is wrong with it as a text or by its types
    """

    method: str | None = None
    model: str | None = None
    tokens: int | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    server: Server | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether it says what --speculative-config gets: then what it leaves out is left out."""
        return self.method is not None or self.model is not None

    def drafter(self, method: str, repository: str | None, revision: str | None) -> Drafter:
        """The same as a drafter of the inventory, unchecked: rules check it. `tokens` is 1 where nobody said it."""
        return Drafter.model_construct(
            method=self.method or method,
            path=self.model or ".",
            tokens=self.tokens or 1,
            config={},
            repository=repository,
            revision=revision,
            options=dict(self.options),
        )


def read(text: str) -> Launch:
    """Read --launch: JSON, or a file with it; the value of --speculative-config, or an object that holds it.

    What is no JSON is a finding that says which layer has destroyed it. Raises UsageError for an unreadable file.
    """
    text = _content(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return Launch(findings=(_destroyed(text.strip()),))
    if not isinstance(value, dict):
        return Launch(findings=(_destroyed(text.strip()),))
    inner = value.get("speculative_config")
    config = inner if isinstance(inner, dict) else {} if inner is not None else value
    method, model = values.text(config, "method"), values.text(config, "model")
    tokens = values.integer(config, "num_speculative_tokens")
    return Launch(
        method="mtp" if method is not None and method.endswith("_mtp") else method,
        model=model,
        tokens=tokens if tokens is not None and 1 <= tokens <= _MOST_TOKENS else None,
        options={key: one for key, one in config.items() if key not in _OWN},
        # Nothing beside it: then the defaults are in force, unless it speaks of more GPUs than one.
        server=_server(value if inner is not None else {})
        if inner is not None or "draft_tensor_parallel_size" not in config
        else None,
        findings=_types(config, tokens),
    )


def _content(text: str) -> str:
    if text.lstrip().startswith(("{", "\\{", "[", "'", '"')) or ":" in text:
        return text
    try:
        with Path(text).open("rb") as file:
            return file.read(_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        tries = ["""--launch '{"method": "dflash", "num_speculative_tokens": 15}'""", "--launch FILE"]
        raise UsageError(f"--launch {text}: neither JSON nor a file: {reason}", tries=tries) from error


def _server(value: Mapping[str, object]) -> Server:
    args: list[str] = []
    for key, flag in _FLAGS.items():
        given = value.get(key)
        if given is not None:
            args += [flag, json.dumps(given) if isinstance(given, dict | list) else str(given)]
    parallel, length = values.integer(value, "tensor_parallel_size"), values.integer(value, "max_model_len")
    return Server.model_construct(
        **{**Server().__dict__, "args": tuple(args), "tensor_parallel": parallel or 1, "max_model_len": length}
    )


def _types(config: Mapping[str, object], tokens: int | None) -> tuple[Finding, ...]:
    given = config.get("num_speculative_tokens")
    if given is None or (tokens is not None and 1 <= tokens <= _MOST_TOKENS):
        return ()
    return (
        Finding(
            rule="speculative-config",
            severity="error",
            field="num_speculative_tokens",
            message=f"{json.dumps(given)[:60]} is no number of tokens",
            remedy=f"a whole number from 1 to {_MOST_TOKENS}",
        ),
    )


def _destroyed(text: str) -> Finding:
    """Which layer between the author and the engine has eaten the JSON, by what is left of it."""
    if re.search(r"\\[{\"\[,:]", text):
        why = "every quote and brace has a backslash: it was escaped twice, by a launcher and by a shell"
    elif text.startswith("'") and text.endswith("'"):
        why = "the single quotes arrived with it: no shell was there to remove them"
    elif re.fullmatch(r"[\w-]+\s*:\s*[^\s,{}]+", text):
        why = "only one pair arrived: an unquoted {a,b} is two words for bash"
    elif re.search(r"[{,]\s*[A-Za-z_]\w*\s*:", text):
        why = "its double quotes are gone: one more shell has read it than was thought"
    else:
        why = "it is no JSON object"
    return Finding(
        rule="speculative-config",
        severity="error",
        field="speculative_config",
        message=f"{why} ({text[:80]!r})",
        remedy="one argument in single quotes, or --speculative-config.method NAME "
        "--speculative-config.num_speculative_tokens N; the list form of command in compose",
    )
