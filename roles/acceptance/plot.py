"""Acceptance lengths over time as a plot: for a terminal, and as a page for a browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_HEIGHT = 10
_WIDTH = 72
_MARKS = {"pass": "o", "fail": "x", "inconclusive": "?", None: "*"}
_COLOURS = {"pass": "#2a7", "fail": "#c33", "inconclusive": "#b80", None: "#36c"}


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


def page(title: str, points: Sequence[Point]) -> str:
    """A whole HTML page without scripts and without anything from elsewhere: a chart and the table behind it."""
    low, high = _range(points) if points else (1.0, 2.0)
    span = max(1, len(points) - 1)
    places = [(40 + 840 * i / span, 260 - 230 * (one.length - low) / (high - low), one) for i, one in enumerate(points)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{_COLOURS.get(one.verdict, _COLOURS[None])}">'
        f"<title>{escape(_said(one))}</title></circle>"
        for x, y, one in places
    )
    scale = "".join(
        f'<text x="4" y="{264 - 230 * i / 4:.0f}">{low + (high - low) * i / 4:.2f}</text>'
        f'<line x1="40" x2="880" y1="{260 - 230 * i / 4:.0f}" y2="{260 - 230 * i / 4:.0f}" stroke="#ddd"/>'
        for i in range(5)
    )
    rows = "".join(
        f"<tr><td>{escape(one.at)}</td><td>{one.length:.2f}</td><td>{escape(one.verdict or '')}</td>"
        f"<td>{escape(one.label)}</td></tr>"
        for one in reversed(points)
    )
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>
<style>body{{font:14px system-ui,sans-serif;margin:2em;max-width:60em}}td,th{{padding:.2em .8em;text-align:left}}
svg text{{font-size:11px;fill:#666}}</style>
<h1>{escape(title)}</h1>
<p>Mean acceptance length (tokens a round, bonus included), old to new. Points have their release as a tooltip.</p>
<svg viewBox="0 0 900 280" role="img" aria-label="acceptance length over time">{scale}
<polyline points="{line}" fill="none" stroke="#999"/>{dots}</svg>
<table><tr><th>when</th><th>length</th><th>verdict</th><th>what</th></tr>{rows}</table>
</html>
"""


def _columns(points: Sequence[Point], width: int) -> list[Point]:
    size = -(-len(points) // width)
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    return [min(group, key=lambda one: one.length) for group in groups]


def _range(points: Sequence[Point]) -> tuple[float, float]:
    """From the lowest to the highest, at least a tenth apart."""
    low, high = min(one.length for one in points), max(one.length for one in points)
    return (low - 0.05, high + 0.05) if high - low < 0.1 else (low, high)


def _said(one: Point) -> str:
    return f"{one.at}: {one.length:.2f} {one.verdict or ''} {one.label}".strip()
