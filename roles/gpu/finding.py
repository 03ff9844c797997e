"""What a check of the GPUs has to say, and how errors among it stop a deploy."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from inventory.errors import PreflightError

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it must be (error) or that may hurt later (warning).

    check:   which check says so ("driver-mismatch")
    message: one line, with the values that were met
    why:     lines that explain
    tries:   commands or settings that help, most likely first
    """

    check: str
    severity: Severity
    message: str
    why: tuple[str, ...] = ()
    tries: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """The same facts for programs."""
        return {
            "check": self.check,
            "severity": self.severity,
            "message": self.message,
            "why": list(self.why),
            "tries": list(self.tries),
        }


def refuse(findings: Iterable[Finding]) -> None:
    """Raise PreflightError with all errors among `findings` (warnings are told too); return when there is none."""
    told = tuple(findings)
    errors = [finding for finding in told if finding.severity == "error"]
    if not errors:
        return
    if len(told) == 1:
        raise PreflightError(errors[0].message, where=("gpu",), why=errors[0].why, tries=errors[0].tries)
    why: list[str] = []
    for finding in (*errors, *(finding for finding in told if finding.severity == "warning")):
        why.append(f"{finding.severity}: {finding.message}")
        why += [f"  {line}" for line in finding.why]
    tries = tuple(dict.fromkeys(line for finding in errors for line in finding.tries))
    raise PreflightError(
        f"{len(errors)} {'thing is' if len(errors) == 1 else 'things are'} wrong with the GPUs",
        where=("gpu",),
        why=why,
        tries=tries,
    )
