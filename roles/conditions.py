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
    method:         how tokens are drafted ("dflash", "mtp" ...), "off" without speculation
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
    method: str | None = None


@dataclass(frozen=True)
class Difference:
    """One condition that is not the same: its name, and both values (None is unknown)."""

    name: str
    before: object
    after: object

    @property
    def known(self) -> bool:
        """Whether it really differs: both values are known, and are not the same model by two names."""
        return self.before is not None and self.after is not None and not self.named_alike

    @property
    def named_alike(self) -> bool:
        """Whether it is a model that is a folder to one and a name to the other, with nothing that tells them apart."""
        if self.name != "model" or self.before is None or self.after is None:
            return False
        (name, revision), (other, its) = (_model(str(value)) for value in (self.before, self.after))
        return name == other and (revision == its or None in (revision, its))

    def __str__(self) -> str:
        return f"{self.name}: {short(self.before)} -> {short(self.after)}"


def _model(value: str) -> tuple[str, str | None]:
    """The last part of a path or a repository's name, and the revision after it."""
    path, _, revision = value.partition("@")
    return path.rstrip("/").rpartition("/")[2].casefold(), revision if revision not in {"", "unknown"} else None


def short(value: object) -> str:
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
