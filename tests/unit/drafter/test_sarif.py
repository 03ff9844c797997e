"""Findings as tools want them: levels, rules and places, and what could not be judged."""

import json
from typing import Any

from roles.drafter.finding import Finding
from roles.drafter.sarif import document

FINDINGS = (
    Finding("ids-range", "error", "dflash_config.target_layer_ids", "too high", "lower it", [1, 2]),
    Finding("target-quantised", "info", "model.path", "it is", "measure"),
    Finding("rope-missing", "warning", "rope_theta", "it is left out", "take it", 1e6, "0.20"),
)


def runs(**reports: Any) -> list[dict[str, Any]]:
    written = json.loads(json.dumps(document(reports, {"ct130": "not reached"})))
    assert written["version"] == "2.1.0"
    return list(written["runs"])


def test_each_finding_is_a_result_of_a_rule_that_the_run_describes() -> None:
    run, _ = runs(ct129=FINDINGS)
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("ids-range", "error"),
        ("target-quantised", "note"),
        ("rope-missing", "warning"),
    ]
    described = {rule["id"]: rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]}
    assert described["ids-range"] == "Each target layer must be one of the target's."
    assert described.keys() == {one["ruleId"] for one in run["results"]}
    first = run["results"][0]
    assert first["message"]["text"] == "dflash_config.target_layer_ids: too high. lower it"
    assert first["properties"] == {"field": "dflash_config.target_layer_ids", "expected": [1, 2], "engines": None}
    (place,) = first["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "ct129"
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "dflash_config.target_layer_ids"


def test_what_could_not_be_judged_is_a_run_that_failed() -> None:
    judged, failed = runs(ct129=())
    assert judged["invocations"] == [{"executionSuccessful": True}]
    assert failed["results"] == []
    assert failed["invocations"][0]["executionSuccessful"] is False
    assert failed["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "not reached"
