"""Speed over latency as a plot made of characters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from roles.load.figures import figures

_WIDTH, _HEIGHT = 64, 12
_LEFT = 7  # characters of the scale


@dataclass(frozen=True)
class Load:
    """A run at one load: what all streams got together, and the mean time of a token, which one stream feels.

    amount: streams, or requests a second; sign: "c" for the one, "r" for the other
    """

    amount: float
    total_tok_s: float
    tpot_s: float | None
    sign: str = "c"


def speed_over_latency(swept: Mapping[str, Sequence[Load]]) -> str:
    """All streams' tok/s, from 0, over the time of a token; "" where fewer than two points are known.

    A point is a letter and its load: c4 or r0.5 of one sweep, a4 and b4 of two, which are then named below.
    """
    first = next((one.sign for loads in swept.values() for one in loads), "c")
    letters = first if len(swept) == 1 else "abdefghijklmnop"
    points = [
        (1e3 * one.tpot_s, one.total_tok_s, f"{letter}{one.amount:g}")
        for letter, loads in zip(letters, swept.values(), strict=False)
        for one in loads
        if one.tpot_s is not None
    ]
    if len(points) < 2:
        return ""
    low, high = min(x for x, _, _ in points), max(x for x, _, _ in points)
    top = max(y for _, y, _ in points)
    grid = [[" "] * (_WIDTH + 5) for _ in range(_HEIGHT)]
    for x, y, word in sorted(points, key=lambda point: -point[1]):
        across = round((x - low) / ((high - low) or 1) * (_WIDTH - 1))
        row = grid[_HEIGHT - 1 - round(y / (top or 1) * (_HEIGHT - 1))]
        taken = any(character != " " for character in row[across : across + len(word) + 1])
        row[across : across + len(word)] = word[:1] if taken else word
    middle = f"{figures((low + high) / 2)}"
    scale = f"{figures(low)}{middle.center(_WIDTH - len(figures(low)) - len(figures(high)))}{figures(high)}"
    heights = {0: figures(top), _HEIGHT // 2: figures(top / 2), _HEIGHT - 1: "0"}
    lines = [
        "tok/s of all streams",
        *(f"{heights.get(number, ''):>{_LEFT}} |{''.join(row).rstrip()}" for number, row in enumerate(grid)),
        f"{'':{_LEFT}} +{'-' * _WIDTH}",
        f"{'':{_LEFT}}  {scale}  TPOT ms",
        *(f"{'':{_LEFT}}  {letter}: {name}" for letter, name in zip(letters, swept, strict=False) if len(swept) > 1),
    ]
    return "\n".join(lines)
