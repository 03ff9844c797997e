"""One reason not to take a run's numbers at face value."""

from dataclasses import dataclass
from typing import Literal

DoubtKind = Literal[
    "wrong-model",
    "other-server",
    "failed",
    "empty",
    "text",
    "same-answer",
    "other-traffic",
    "other-gpu-load",
    "throttled",
    "late",
    "overloaded",
    "no-counts",
    "too-few",
    "stopped-early",
    "queued",
    "preempted",
    "unsent",
    "prefix-cache",
    "since-start",
    "same-counts",
    "left-out",
]


@dataclass(frozen=True)
class Doubt:
    """One reason not to take a run's numbers at face value.

    spoils: they must not be compared with others or kept as a baseline; otherwise they are to be read with care.
    prompts: ids of those concerned, () for the whole run.
    """

    kind: DoubtKind
    message: str
    spoils: bool
    prompts: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """The same facts for programs."""
        return {"kind": self.kind, "message": self.message, "spoils": self.spoils, "prompts": list(self.prompts)}
