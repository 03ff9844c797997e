"""What is known about pull requests that people install, so that nobody builds what a release contains."""

import re
from dataclasses import dataclass

NEWEST_RELEASE = "0.33.0"
"""The newest release that these facts were checked against."""


@dataclass(frozen=True)
class KnownPullRequest:
    """fate: merged or closed; release: the first that contains the change; by: the request that brought it there."""

    fate: str
    release: str
    by: int


# Read in the wheels: the layer offset is in 0.22.0 and not in 0.21.0; 0.25.0 refuses mixed layers, 0.26.0 runs them.
_VLLM = {
    40727: KnownPullRequest("merged", "0.22.0", by=40727),
    40898: KnownPullRequest("closed without being merged", "0.26.0", by=47914),
}
_UPSTREAM = re.compile(r"github\.com[:/]vllm-project/vllm(\.git)?/?$")


def note(repository: str, number: int) -> str | None:
    """What a person who installs this pull request should know; None for other repositories and numbers."""
    known = _VLLM.get(number)
    if known is None or not _UPSTREAM.search(repository):
        return None
    via = "" if known.by == number else f" (as #{known.by})"
    return (
        f"pull request {number} was {known.fate}; releases from {known.release} on contain the change{via}: "
        f"install release:{NEWEST_RELEASE} instead"
    )
