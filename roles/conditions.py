"""What a measurement depends on, and where two measurements differ in it: the same for a gate as for a bench."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_DIGEST = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True)
class Conditions:
    """Under which conditions something was measured. None means unknown.

    engine:         build with its version or commit ("vllm 0.33.0", "vllm pr:40898@1f2e...")
    model:          target with revision or digest
    drafter:        SHA-256 of the drafter's rendered config.json
    k:              speculative tokens a round
    prompts:        name and digest of the prompt set
    thinking:       whether the chat template's thinking mode is on
    concurrency:    requests at a time
    gpu, driver:    as nvidia-smi names them
    max_tokens:     per prompt
    """

    engine: str | None = None
    model: str | None = None
    drafter: str | None = None
    k: int | None = None
    prompts: str | None = None
    temperature: float | None = None
    thinking: bool | None = None
    concurrency: int | None = None
    gpu: str | None = None
    driver: str | None = None
    max_tokens: int | None = None


@dataclass(frozen=True)
class Difference:
    """One condition that is not the same: its name, and both values (None is unknown)."""

    name: str
    before: object
    after: object

    @property
    def known(self) -> bool:
        """Whether both values are known, so that they really differ."""
        return self.before is not None and self.after is not None

    def __str__(self) -> str:
        return f"{self.name}: {_short(self.before)} -> {_short(self.after)}"


def _short(value: object) -> str:
    """A value for people: of a digest its first 12 digits."""
    text = "unknown" if value is None else str(value)
    return text[:12] if _DIGEST.fullmatch(text) else text


PREVENTING = frozenset(
    {"model", "prompts", "temperature", "thinking", "concurrency", "load", "rate", "burstiness"}
    | {"max_tokens", "extra_body"}
)
"""A comparison means nothing when one of these is known to differ: it would compare other work, not the release."""


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[Difference, ...]:
    """Where two measurements differ, in the order of their names; also where only one side is known.

    before, after: `vars` of Conditions, or a run's; a name that is left out is unknown.
    """
    names = dict.fromkeys((*before, *after))
    pairs = ((name, before.get(name), after.get(name)) for name in names)
    return tuple(Difference(name, old, new) for name, old, new in pairs if old != new)
