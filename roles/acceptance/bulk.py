"""vLLM's usual spec lines in bulk: what large logs consist of, read in a few array operations."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from roles.acceptance.window import Window

if TYPE_CHECKING:
    import numpy as np

    Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    Flags = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

NEEDLE = b" tokens, Per-position acceptance rate: "
"""In every spec line of vLLM 0.8.5-0.33, near its middle; rare enough to be searched for."""

_HEAD = b"Accepted: "
_HEAD_REACH = 60
_TAIL_REACH = 400
_ONLY_NUMBERS = bytes(byte if chr(byte) in "0123456789." else 32 for byte in range(256))


@dataclass(frozen=True)
class Batch:
    """Lines that were read together.

    windows: (window, lines it stands for), one for each k
    odd:     whole lines that must be read one by one: another order of the figures, unequal drafts, contradictions
    last:    the last line of all with the line before it: they say the time, the engine and its speed
    """

    windows: tuple[tuple[Window, int], ...]
    odd: tuple[bytes, ...]
    last: tuple[bytes, bytes]


class Gatherer:
    """Collects the spec lines of blocks until they are worth an array operation."""

    def __init__(self, most_rows: int = 2048, most_bytes: int = 8 << 20) -> None:
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._rows: list[bytes] = []
        self._pieces: list[tuple[list[bytes], int]] = []
        self._bytes = 0

    def block(self, block: bytes) -> Batch | None:
        """Take a block that ends with a line; gives what was collected when it is enough."""
        pieces = block.split(NEEDLE)
        if len(pieces) > 1:
            # Accepted and drafted stand before the needle; the rates and the closing rate after it.
            self._rows += [
                b"%b %b"
                % (
                    before[before.rfind(_HEAD, -_HEAD_REACH) + 10 :][-_HEAD_REACH:],
                    after[: after.find(b"%", 0, _TAIL_REACH)],
                )
                for before, after in pairwise(pieces)
            ]
            self._pieces.append((pieces, len(self._rows)))
            self._bytes += len(block)
        full = len(self._rows) >= self._most_rows or self._bytes >= self._most_bytes
        return self.flush() if full else None

    def flush(self) -> Batch | None:
        """What is collected; None for nothing."""
        if not self._rows:
            return None
        windows, wrong = _added(self._rows)
        odd = tuple(self._line(i)[1] for i in wrong)
        batch = Batch(windows, odd, self._line(len(self._rows) - 1))
        self._rows, self._pieces, self._bytes = [], [], 0
        return batch

    def _line(self, row: int) -> tuple[bytes, bytes]:
        """The line before, and the whole line of a row."""
        first = 0
        for pieces, end in self._pieces:
            if row < end:
                before, after = pieces[row - first], pieces[row - first + 1]
                start = before.rfind(b"\n") + 1
                earlier = before[before.rfind(b"\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)]
                end_of_line = after.find(b"\n")
                return earlier, before[start:] + NEEDLE + (after if end_of_line < 0 else after[:end_of_line])
            first = end
        raise IndexError(row)


def batch_of_lines(text: bytes) -> Batch | None:
    """The same for text that holds nothing but spec lines (what grep found)."""
    import numpy as np

    from roles.acceptance.columns import table_of

    at = text.find(NEEDLE)
    k = text.count(b".", at + len(NEEDLE), text.find(b"%", at)) - 1 if at >= 0 else 0
    if k >= 1:
        table = table_of(text, k)
        good = _agree(table)
        wrong = np.flatnonzero(~good)
        if good.any() and len(wrong) <= 0.1 * len(good) and len(good) == text.count(b"\n"):
            lines = text.splitlines() if len(wrong) else []
            last = text[text.rfind(b"\n", 0, -1) + 1 :]
            return Batch(((_pooled(table[good]), int(good.sum())),), tuple(lines[i] for i in wrong), (b"", last))
    gatherer = Gatherer()
    return gatherer.block(text) or gatherer.flush()


def _added(rows: Sequence[bytes]) -> tuple[tuple[tuple[Window, int], ...], list[int]]:
    """Windows by k, and the rows whose figures are not the expected ones or do not agree."""
    windows: list[tuple[Window, int]] = []
    wrong: list[int] = []
    for k, members in _by_k(rows):
        chosen = rows if len(members) == len(rows) else [rows[i] for i in members]
        numbers = _numbers(b" ".join(chosen))
        if k < 1 or numbers.size != (k + 3) * len(members):
            wrong += members
            continue
        table = numbers.reshape(len(members), k + 3)
        good = _agree(table)
        wrong += [member for member, fine in zip(members, good.tolist(), strict=True) if not fine]
        if good.any():
            windows.append((_pooled(table[good]), int(good.sum())))
    return tuple(windows), sorted(wrong)


def _numbers(text: bytes) -> "Table":
    """All numbers in a text; none when it has something like one that is not."""
    import numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how numpy says that it did not come to the end
        try:
            return np.fromstring(text.translate(_ONLY_NUMBERS), sep=" ")
        except (DeprecationWarning, ValueError):
            return np.zeros(0)


def _agree(table: "Table") -> "Flags":
    """Which rows (accepted, drafted, k rates, closing rate) have figures that agree, with all drafts k tokens long."""
    import numpy as np

    accepted, drafted, rates, rate = table[:, 0], table[:, 1], table[:, 2:-1], table[:, -1]
    k = rates.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        rounds = np.floor(drafted / k)
        agreeing: Flags = (
            (drafted > 0)
            & (drafted < 1e12)
            & (rounds * k == drafted)
            & (np.abs(rate - 100 * accepted / drafted) <= 0.0501)
            & (np.abs(rates.sum(axis=1) - accepted / rounds) <= 0.00051 * k)
            & (np.diff(rates, axis=1, prepend=1.0) <= 0).all(axis=1)
        )
    return agreeing


def _pooled(table: "Table") -> Window:
    import numpy as np

    accepted, drafted, rates = table[:, 0], table[:, 1], table[:, 2:-1]
    rounds = drafted / rates.shape[1]
    means = np.rint(rates * rounds[:, None]).sum(axis=0).tolist()  # exact below a thousand rounds
    return _window(int(rounds.sum()), int(accepted.sum()), means, rounded=bool((rounds >= 1000).any()))


def _by_k(rows: Sequence[bytes]) -> list[tuple[int, Sequence[int]]]:
    """Indices of rows by k: the rates and the closing rate have a point each, and nothing else has."""
    points = rows[0].count(b".")
    if b"".join(rows).count(b".") == points * len(
        rows
    ):  # as good as always; where it is not so, the figures contradict
        return [(points - 1, range(len(rows)))]
    groups: dict[int, list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(row.count(b".") - 1, []).append(i)
    return list(groups.items())


def _window(rounds: int, accepted: int, means: Sequence[float], *, rounded: bool) -> Window:
    """Counts by position: the nearest to the rates whose sum is the exact one."""
    counts = [round(mean) for mean in means]
    missing = accepted - sum(counts)
    for i in range(len(counts)) if missing > 0 else reversed(range(len(counts))):
        above = rounds if i == 0 else counts[i - 1]
        below = counts[i + 1] if i + 1 < len(counts) else 0
        move = min(missing, above - counts[i]) if missing > 0 else max(missing, below - counts[i])
        counts[i] += move
        missing -= move
    doubts = ("per-position counts are rounded (the log prints three digits)",) if rounded else ()
    return Window(rounds, accepted, rounds * len(counts), tuple(counts), len(counts), source="log", doubts=doubts)
