"""Each file of tests/cases/inventory is one inventory, and either its problems or what its hosts become."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import InventoryError
from inventory.load import Inventory
from tests.unit.inventory.conftest import CHECKOUT

CASES = sorted((CHECKOUT / "tests" / "cases" / "inventory").glob("*.json"))


def at(value: Any, key: str) -> Any:
    for part in key.split("."):
        value = value[part]
    return value


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_inventory_is_read_as_the_case_says(path: Path, load_text: Callable[[str], Inventory], tmp_path: Path) -> None:
    case: dict[str, Any] = json.loads(path.read_text())
    text = "\n".join(case["yaml"]) + "\n"
    if "problems" in case:
        with pytest.raises(InventoryError) as caught:
            load_text(text)
        place = f"{tmp_path}/hosts.yml:"
        assert [str(problem).replace(place, "").strip() for problem in caught.value.problems] == case["problems"]
        said = f"{caught.value!s}{caught.value!r}{caught.value.as_json()}{caught.value.__context__!r}"
        assert [secret for secret in case.get("never_shown", ()) if secret in said] == []
        return
    inventory = load_text(text)
    for name, wanted in case["resolved"].items():
        found = inventory.hosts[name].host.model_dump(mode="json")
        assert {key: at(found, key) for key in wanted} == wanted
    for name, wanted in case["origins"].items():
        origins = inventory.hosts[name].origins
        assert {
            key: f"{origins[key].line} {origins[key].layer}" if key in origins else None for key in wanted
        } == wanted


def test_problems_come_in_the_order_of_the_lines() -> None:
    """Read from the cases, which hold exact lists."""
    for path in CASES:
        problems = json.loads(path.read_text()).get("problems", [])
        lines = [int(line) for problem in problems if (line := problem.partition(":")[0]).isdigit()]
        assert lines == sorted(lines), path.stem
