"""Reports as SARIF 2.1.0, for tools that show findings beside code."""

from collections.abc import Mapping, Sequence

from roles.drafter.finding import Finding
from roles.drafter.rules import RULES

_LEVEL = {"error": "error", "warning": "warning", "info": "note"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def document(reports: Mapping[str, Sequence[Finding]], failures: Mapping[str, str] | None = None) -> dict[str, object]:
    """One run a subject.

    reports:  what was judged (a path, a host's name) -> its findings
    failures: what could not be judged -> why
    """
    runs = [_run(subject, findings, None) for subject, findings in reports.items()]
    runs += [_run(subject, (), why) for subject, why in (failures or {}).items()]
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}


def _run(subject: str, findings: Sequence[Finding], failure: str | None) -> dict[str, object]:
    titles = {rule.id: rule.title for rule in RULES}
    used = sorted({finding.rule for finding in findings})
    invocation: dict[str, object] = {"executionSuccessful": failure is None}
    if failure is not None:
        invocation["toolExecutionNotifications"] = [{"level": "error", "message": {"text": failure}}]
    rules = [{"id": name, "shortDescription": {"text": titles.get(name, name)}} for name in used]
    return {
        "tool": {"driver": {"name": "specrail drafter", "rules": rules}},
        "automationDetails": {"id": f"drafter/{subject}"},
        "invocations": [invocation],
        "results": [_result(subject, finding) for finding in findings],
    }


def _result(subject: str, finding: Finding) -> dict[str, object]:
    return {
        "ruleId": finding.rule,
        "level": _LEVEL[finding.severity],
        "message": {"text": f"{finding.field}: {finding.message}. {finding.remedy}"},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": subject}},
                "logicalLocations": [{"fullyQualifiedName": finding.field, "kind": "member"}],
            }
        ],
        "properties": {"field": finding.field, "expected": finding.expected, "engines": finding.engines},
    }
