"""A check's report for people and for programs."""

from roles.drafter.check import Report
from roles.drafter.finding import Finding

_MARK = {"error": "error", "warning": "warn", "info": "info"}


def table(report: Report) -> str:
    """Plain text: a block for each finding, errors first, then what cannot be known. Ends with a newline."""
    lines: list[str] = []
    width = max((len(finding.field) for finding in report.findings), default=0)
    for finding in report.findings:
        lines.append(f"{_MARK[finding.severity]:<6}{finding.field:<{width}}  {finding.message}  [{finding.rule}]")
        lines.append(f"{'':<6}{'':<{width}}  -> {finding.remedy}")
    if not report.findings:
        lines.append("nothing is wrong with this drafter's config, as far as it can be known")
    if report.unknowable:
        lines.append("cannot be known here:")
        lines += [f"      {unknown.field}: {unknown.why}" for unknown in report.unknowable]
    return "\n".join(lines) + "\n"


def as_json(report: Report) -> dict[str, object]:
    """The same facts for programs: ok, findings, unknowable."""
    return {
        "ok": report.ok,
        "findings": [finding.as_json() for finding in report.findings],
        "unknowable": [{"field": unknown.field, "why": unknown.why} for unknown in report.unknowable],
    }


def counts(findings: tuple[Finding, ...]) -> str:
    """One line: "2 errors, 1 warning"; "no findings"."""
    words = []
    for severity, name in (("error", "error"), ("warning", "warning"), ("info", "note")):
        number = sum(finding.severity == severity for finding in findings)
        if number:
            words.append(f"{number} {name}{'' if number == 1 else 's'}")
    return ", ".join(words) or "no findings"
