"""Acceptance lengths over time as a plot for a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

_HEIGHT = 10
_WIDTH = 72
_MARKS = {"pass": "o", "fail": "x", "inconclusive": "?", None: "*"}


@dataclass(frozen=True)
class Point:
    """One measurement. at and label are for people; verdict is that of a gate, None where there was none."""

    at: str
    length: float
    label: str = ""
    verdict: str | None = None


def terminal(points: Sequence[Point], *, width: int = _WIDTH, height: int = _HEIGHT) -> str:
    """Columns from old to new, one character a measurement: o passed, x failed, ? inconclusive, * no verdict.

    Where there are more measurements than columns, a column shows the worst of its own.
    """
    if not points:
        return "nothing was measured yet"
    columns = _columns(points, width)
    low, high = _range(columns)
    step = (high - low) / (height - 1)
    lines = []
    for row in range(height - 1, -1, -1):
        marks = [_MARKS.get(one.verdict, "*") if round((one.length - low) / step) == row else " " for one in columns]
        lines.append(f"{low + row * step:6.2f} |{''.join(marks).rstrip()}")
    first, last = columns[0].at, columns[-1].at
    lines.append(f"       +{'-' * len(columns)}")
    lines.append(
        f"        {first}{' ' * max(1, len(columns) - len(first) - len(last))}{last}"
        if first != last
        else f"        {first}"
    )
    return "\n".join(lines)


def _columns(points: Sequence[Point], width: int) -> list[Point]:
    size = -(-len(points) // width)
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    return [min(group, key=lambda one: one.length) for group in groups]


def _range(points: Sequence[Point]) -> tuple[float, float]:
    """From the lowest to the highest, at least a tenth apart."""
    low, high = min(one.length for one in points), max(one.length for one in points)
    return (low - 0.05, high + 0.05) if high - low < 0.1 else (low, high)
