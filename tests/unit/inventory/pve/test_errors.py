"""Every text that is known of a node becomes the right error, with a reason and a remedy."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory import errors
from inventory.pve import denials, texts
from inventory.pve.errors import Answer, Asked, classify

CASES = {
    path.stem: json.loads(path.read_text()) for path in (Path(__file__).parents[3] / "cases/pve/errors").glob("*.json")
}
ASKED = Asked(node="pve1", who="llm@pve!deploy", what="GET /version")


@pytest.mark.parametrize("name", sorted(CASES))
def test_text_becomes_its_error(name: str) -> None:
    case = CASES[name]
    error = classify(Answer(**case["answer"]), Asked(**case["asked"]))
    assert type(error) is getattr(errors, case["error"])
    for part in case["why"]:
        assert any(part in line for line in error.why), (part, error.why)
    if case["tries"] is not None:
        assert list(error.tries) == case["tries"]
    assert error.where == ("pve1", case["asked"]["what"])
    assert "{" not in "".join(error.tries).replace("{id:", "").replace("{user:", "")


@pytest.mark.parametrize("rule", [*denials.RULES, *texts.RULES], ids=lambda rule: rule.pattern.pattern)
def test_every_row_of_the_tables_is_proved_by_a_case(rule: object) -> None:
    chosen = []
    for case in CASES.values():
        answer = case["answer"]
        subject = "\n".join([answer["text"], *(f"{key}: {text.strip()}" for key, text in answer["fields"].items())])
        chosen += [
            next(
                row
                for row in (*denials.RULES, *texts.RULES)
                if row.status in (None, answer["status"]) and row.pattern.search(subject)
            )
        ]
    assert rule in chosen


@given(
    status=st.none() | st.integers(400, 599), text=st.text(), fields=st.dictionaries(st.text(), st.text(), max_size=2)
)
def test_any_answer_becomes_an_error_with_a_reason_and_a_remedy(
    status: int | None, text: str, fields: dict[str, str]
) -> None:
    """Whatever a node, a proxy or something else answers: one of our errors, whose first line is one line."""
    error = classify(Answer(status, text, fields), ASKED)
    assert error.what
    assert "\n" not in error.what
    assert error.why
    assert error.tries


def test_values_of_the_node_are_quoted_in_commands() -> None:
    error = classify(Answer(None, "volume 'local:vztmpl/a; rm -rf b' does not exist"), ASKED)
    assert error.tries[0].startswith("pveam update && pveam download local 'a; rm -rf b'  #")
