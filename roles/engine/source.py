"""engine.source, read: which of the six ways to get an engine is meant."""

import re
from dataclasses import dataclass
from typing import Literal

from inventory.errors import UsageError

SourceKind = Literal["release", "pr", "commit", "branch", "wheel", "path"]

_FORMS: dict[SourceKind, str] = {
    "release": r"[0-9][A-Za-z0-9.]*",
    "pr": r"[1-9][0-9]*",
    "commit": r"[0-9a-f]{40}",
    "branch": r"[A-Za-z0-9][A-Za-z0-9._/-]*",
    "wheel": r"\S+",
    "path": r"/\S*",
}


@dataclass(frozen=True)
class Source:
    """Where an engine comes from. value: version, number, commit, branch, a wheel's URL or path, a folder."""

    kind: SourceKind
    value: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"

    @property
    def ref(self) -> str | None:
        """The git ref whose commit is wanted; None where there is none to follow."""
        if self.kind == "pr":
            return f"refs/pull/{self.value}/head"
        if self.kind == "branch":
            return f"refs/heads/{self.value}"
        return None

    @property
    def from_git(self) -> bool:
        """Whether the host fetches it from the engine's repository."""
        return self.kind in {"pr", "commit", "branch"}

    @property
    def pull_request(self) -> int | None:
        """The number of the pull request; None for every other source."""
        return int(self.value) if self.kind == "pr" else None

    @property
    def title(self) -> str:
        """How messages call it."""
        names = {"pr": "pull request", "path": "the checkout", "wheel": "the wheel"}
        return f"{names.get(self.kind, self.kind)} {self.value}"


def parse(text: str) -> Source:
    """Read "pr:40898". Raises UsageError for anything else than the six forms."""
    word, _, value = text.partition(":")
    for kind, form in _FORMS.items():
        if word == kind and re.fullmatch(form, value):
            return Source(kind, value)
    raise UsageError(
        f"engine.source {text!r} is none of release:, pr:, commit:, branch:, wheel:, path:",
        tries=("engine.source: release:0.33.0", "engine.source: pr:40898", "engine.source: branch:main"),
    )
