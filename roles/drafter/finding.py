"""What the check of a drafter has to say, and how errors among it stop a deploy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from inventory.errors import DrafterRefused

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Finding:
    """One thing about one field.

    rule:     which rule says so ("ids-range")
    severity: error: will fail or accept next to nothing; warning: suspicious; info: unusual and legal
    field:    dotted key in the drafter's config.json, or of the inventory ("drafter.tokens"), or "weights"
    message:  one line, with the value that was met
    remedy:   what to do
    expected: the right value where it can be known; None where it cannot
    engines:  engine versions that it is about; None for all
    """

    rule: str
    severity: Severity
    field: str
    message: str
    remedy: str
    expected: object = None
    engines: str | None = None

    def as_json(self) -> dict[str, object]:
        """The same facts for programs."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "field": self.field,
            "message": self.message,
            "remedy": self.remedy,
            "expected": self.expected,
            "engines": self.engines,
        }


def refuse(findings: Sequence[Finding]) -> None:
    """Raise DrafterRefused with every error among `findings`; return when there is none."""
    errors = [finding for finding in findings if finding.severity == "error"]
    if not errors:
        return
    fields = ", ".join(dict.fromkeys(finding.field for finding in errors))
    raise DrafterRefused(
        f"the drafter's configuration is wrong: {fields}",
        where=("drafter",),
        why=[f"{finding.field}: {finding.message}" for finding in errors],
        tries=tuple(dict.fromkeys(finding.remedy for finding in errors)),
    )
