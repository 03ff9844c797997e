"""Charts as inline SVG: text in, text out, no script, readable in colour, in grey and on a phone."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, floor, log10

from roles.load.figures import figures

COLOURS = ("#1f6feb", "#d9480f", "#2b8a3e", "#862e9c", "#b08800", "#0b7285", "#c2255c", "#6c757d")
_DASHES = ("", "6 3", "2 3", "8 3 2 3", "12 3", "4 2", "1 3", "10 2 2 2")
_WIDTH, _HEIGHT = 420, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 14, 26, 40
_SMALLEST = 1e-9
_MOST_DOTS, _MOST_STEPS = 40, 200


@dataclass(frozen=True)
class Series:
    """A named line: (x, y) from left to right. look: which of the colours; words: for points that need some."""

    name: str
    points: Sequence[tuple[float, float]]
    look: int = 0
    words: Sequence[str] = ()


def line_chart(title: str, series: Sequence[Series], *, x: str, y: str, dots: bool = True) -> str:
    """Lines over a common axis; up it begins at 0. "" when there is nothing to draw. dots: mark the points."""
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
    for one in series:
        placed = [place(point) for point in one.points]
        path = " ".join(f"{across:.1f},{down:.1f}" for across, down in placed)
        colour, dash = _style(one.look)
        if len(placed) > 1:
            parts.append(
                f'<polyline fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}" points="{path}"/>'
            )
        if dots and len(placed) <= _MOST_DOTS:
            parts += [f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="{colour}"/>' for across, down in placed]
        parts += [
            _text(
                min(max(across, _LEFT + 10), _WIDTH - _RIGHT - 12),
                down + (17 if down < _TOP + 14 else -7),
                word,
                "middle",
            )
            for (across, down), word in zip(placed, one.words, strict=False)
        ]
    parts += [
        _text(place((mark, 0))[0], _HEIGHT - _BOTTOM + 19, f"{mark:g}", "middle") for mark in _marks(least_x, most_x)
    ]
    return _figure(title, parts, x, y, [(one.name, _line_key(one.look)) for one in series])


def bar_chart(title: str, bars: Sequence[tuple[str, float]], *, y: str) -> str:
    """One bar a name, with its number on it and its place below. "" when there is nothing to draw."""
    if not bars or max(value for _, value in bars) < _SMALLEST:
        return ""
    highest = max(value for _, value in bars)
    top, width = _ticks(highest)[-1], (_WIDTH - _LEFT - _RIGHT) / len(bars)
    parts = [_axis(highest)]
    for number, (name, value) in enumerate(bars):
        tall = value / top * (_HEIGHT - _TOP - _BOTTOM)
        left, down = _LEFT + (number + 0.15) * width, _HEIGHT - _BOTTOM - tall
        colour, _ = _style(number)
        parts.append(
            f'<rect x="{left:.1f}" y="{down:.1f}" width="{0.7 * width:.1f}" height="{tall:.1f}" fill="{colour}"/>'
        )
        parts.append(_text(left + 0.35 * width, down - 4, figures(value), "middle"))
        parts.append(_text(left + 0.35 * width, _HEIGHT - _BOTTOM + 19, name.partition(":")[0][:12], "middle"))
    return _figure(title, parts, "", y, [(name, _block_key(number)) for number, (name, _) in enumerate(bars)])


def _figure(title: str, parts: Sequence[str], x: str, y: str, legend: Sequence[tuple[str, str]]) -> str:
    names = "".join(f"<li>{key}{escape(name)}</li>" for name, key in legend)
    axes = _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 4, x, "middle") + _text(4, 13, y, "start")
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}{axes}</svg><ul>{names}</ul></figure>"
    )


def _line_key(number: int) -> str:
    """A piece of the line itself: in grey only the dashes tell lines apart."""
    colour, dash = _style(number)
    return (
        '<svg class="key" viewBox="0 0 26 10" aria-hidden="true">'
        f'<path d="M0 5H26" stroke="{colour}" stroke-width="3" stroke-dasharray="{dash}"/></svg>'
    )


def _block_key(number: int) -> str:
    return (
        '<svg class="key" viewBox="0 0 26 10" aria-hidden="true">'
        f'<rect width="26" height="10" fill="{_style(number)[0]}"/></svg>'
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
    step = _step(most)
    return [step * number for number in range(ceil(most / step - 1e-9) + 1)]


def _marks(low: float, high: float) -> list[float]:
    """Round numbers between two; the one where they are the same."""
    if high - low < _SMALLEST:
        return [low]
    step = _step(high - low)
    return [step * number for number in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def _step(span: float) -> float:
    size = 10.0 ** floor(log10(span))
    return next(size * part for part in (0.2, 0.5, 1, 2, 5) if span / (size * part) <= 5)


def _style(number: int) -> tuple[str, str]:
    return COLOURS[number % len(COLOURS)], _DASHES[number % len(_DASHES)]


def _text(across: float, down: float, text: str, anchor: str) -> str:
    return f'<text x="{across:.1f}" y="{down:.1f}" text-anchor="{anchor}">{escape(text)}</text>' if text else ""


def distribution(values: Sequence[float]) -> list[tuple[float, float]]:
    """(value, share of all that are at most that), as steps for a line: what percentiles are read from.

    At most 200 steps: of more values every n-th is drawn, and the largest.
    """
    rising = sorted(values)
    every = -(-len(rising) // _MOST_STEPS) or 1
    places = sorted({*range(every - 1, len(rising), every), len(rising) - 1}) if rising else []
    steps = [(rising[place], (place + 1) / len(rising)) for place in places]
    return (
        [point for before, after in pairwise([(rising[0], 0.0), *steps]) for point in (before, (after[0], before[1]))]
        + steps[-1:]
        if rising
        else []
    )
