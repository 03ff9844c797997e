"""Where this room's data cases are, and what several of its tests make from them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roles.acceptance.window import PromptWindow, Window

ROOT = Path(__file__).parents[2] / "cases" / "acceptance"


def paths(folder: str) -> list[Path]:
    """The case files of one folder; never none, which would be a test that cannot fail."""
    found = sorted((ROOT / folder).glob("*.json"))
    assert found
    return found


def load(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(path.read_text())
    return case


def window(counts: Mapping[str, Any]) -> Window:
    return Window(**{**counts, "per_position": tuple(counts["per_position"])})


def measured(name: str) -> Window:
    """A window measured on a real engine, by the name of its curve: "right-k15-c1"."""
    return window(load(ROOT / "curves" / f"{name}.json")["window"])


def of_rates(rounds: int, k: int, *rates: float) -> Window:
    """A window whose first positions have these rates and whose others are 0."""
    counts = tuple(round(rate * rounds) for rate in rates) + (0,) * (k - len(rates))
    return Window(rounds, sum(counts), k * rounds, counts, k)


def prompt(name: str, window: Window) -> PromptWindow:
    return PromptWindow(name, window, window.generated)
