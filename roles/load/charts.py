"""Charts as inline SVG: text in, text out, no script, readable in colour, in grey and on a phone."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, floor, log10

COLOURS = ("#1f6feb", "#d9480f", "#2b8a3e", "#862e9c", "#b08800", "#0b7285", "#c2255c", "#495057")
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "", "6 3", "2 3", "8 3 2 3")
_WIDTH, _HEIGHT = 560, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 16, 40
_SMALLEST = 1e-9


@dataclass(frozen=True)
class Series:
    """A named line: (x, y) from left to right."""

    name: str
    points: Sequence[tuple[float, float]]


def line_chart(title: str, series: Sequence[Series], *, x: str, y: str) -> str:
    """Lines over a common axis that begins at 0. "" when there is nothing to draw."""
    points = [point for one in series for point in one.points]
    if not points:
        return ""
    most_x, most_y = max(point[0] for point in points), max(point[1] for point in points)
    least_x = min(point[0] for point in points)
    top = _ticks(most_y)[-1]
    span = (most_x - least_x) or 1.0

    def place(point: tuple[float, float]) -> tuple[float, float]:
        across = _LEFT + (point[0] - least_x) / span * (_WIDTH - _LEFT - _RIGHT)
        return across, _TOP + (1 - point[1] / top) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [_axis(most_y)]
    for number, one in enumerate(series):
        placed = [place(point) for point in one.points]
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down in placed)
        colour, dash = _style(number)
        parts.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}" points="{path}"/>'
        )
        if len(placed) <= 40:
            parts += [f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="{colour}"/>' for across, down in placed]
    marks = sorted({least_x, (least_x + most_x) / 2, most_x})
    parts += [_text(place((mark, 0))[0], _HEIGHT - _BOTTOM + 16, f"{mark:g}", "middle") for mark in marks]
    return _figure(title, parts, x, y, [one.name for one in series])


def bar_chart(title: str, bars: Sequence[tuple[str, float]], *, y: str) -> str:
    """One bar a name, with its number on it. "" when there is nothing to draw."""
    if not bars or max(value for _, value in bars) < _SMALLEST:
        return ""
    highest = max(value for _, value in bars)
    top, width = _ticks(highest)[-1], (_WIDTH - _LEFT - _RIGHT) / len(bars)
    parts = [_axis(highest)]
    for number, (_, value) in enumerate(bars):
        tall = value / top * (_HEIGHT - _TOP - _BOTTOM)
        left, down = _LEFT + (number + 0.15) * width, _HEIGHT - _BOTTOM - tall
        colour, _ = _style(number)
        parts.append(
            f'<rect x="{left:.1f}" y="{down:.1f}" width="{0.7 * width:.1f}" height="{tall:.1f}" fill="{colour}"/>'
        )
        parts.append(_text(left + 0.35 * width, down - 4, _figures(value), "middle"))
    return _figure(title, parts, "", y, [name for name, _ in bars])


def _figure(title: str, parts: Sequence[str], x: str, y: str, names: Sequence[str]) -> str:
    legend = "".join(
        f'<li><span class="key" style="background:{_style(number)[0]}"></span>{escape(name)}</li>'
        for number, name in enumerate(names)
    )
    axes = _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 6, x, "middle") + _text(4, 11, y, "start")
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">{"".join(parts)}{axes}</svg>'
        f"<ul>{legend}</ul></figure>"
    )


def _axis(most: float) -> str:
    ticks = _ticks(most)
    lines = []
    for tick in ticks:
        down = _TOP + (1 - tick / ticks[-1]) * (_HEIGHT - _TOP - _BOTTOM)
        lines.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{down:.1f}" y2="{down:.1f}" class="grid"/>')
        lines.append(_text(_LEFT - 6, down + 4, f"{tick:g}", "end"))
    return "".join(lines)


def _ticks(most: float) -> list[float]:
    """Round numbers from 0 to at least `most`."""
    if most < _SMALLEST:
        return [0.0, 1.0]
    size = 10.0 ** floor(log10(most))
    step = next(size * part for part in (0.25, 0.5, 1, 2.5, 5) if most / (size * part) <= 5)
    return [step * number for number in range(ceil(1.02 * most / step) + 1)]


def _style(number: int) -> tuple[str, str]:
    return COLOURS[number % len(COLOURS)], _DASHES[number % len(_DASHES)]


def _text(across: float, down: float, text: str, anchor: str) -> str:
    return f'<text x="{across:.1f}" y="{down:.1f}" text-anchor="{anchor}">{escape(text)}</text>' if text else ""


def _figures(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def distribution(values: Sequence[float]) -> list[tuple[float, float]]:
    """(value, share of all that are at most that), as steps for a line: what percentiles are read from."""
    rising = sorted(values)
    steps = [(value, (number + 1) / len(rising)) for number, value in enumerate(rising)]
    return (
        [point for before, after in pairwise([(rising[0], 0.0), *steps]) for point in (before, (after[0], before[1]))]
        + steps[-1:]
        if rising
        else []
    )
