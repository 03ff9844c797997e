"""Property: spec lines that are read in bulk give what they give one by one."""

import re

from hypothesis import given
from hypothesis import strategies as st

from roles.acceptance.blocks import block_of
from roles.acceptance.bulk import SPEC
from roles.acceptance.loglines import LogReader, read
from roles.acceptance.reading import Reading
from roles.acceptance.search import Search
from roles.acceptance.window import Window, faults, pool
from tests.unit.acceptance.test_loglines import PIECES, printed, rounds_and_counts
from tests.unit.acceptance.test_scan import unequal

_WORDS = [
    "\n",
    "M",
    "Mean acceptance length: ",
    "\0",
    "9" * 40,
    "\x1b[1;36m",
    printed(9, [4, 1]),
    "\u0663",
    "%\n",
    "\r\n",
]

_FIRST = printed(100, [50]).encode()


def searched(text: bytes) -> Reading:
    """As a large log is that is known to be vLLM's, without its servers' starts."""
    reader = LogReader()
    reader.line(1, _FIRST)
    search = Search(reader, after_start=0)
    search.take(block_of(text), 1)
    search.end(1)
    return reader.reading()


def totals(reading: Reading) -> dict[int | None, tuple[object, ...]]:
    """Sums by k, with nothing in them that depends on what was added up first."""
    found: dict[int | None, tuple[object, ...]] = {}
    for k in {window.k for window in reading.windows}:
        window = pool(one for one in reading.windows if one.k == k)
        found[k] = (window.rounds, window.accepted, window.drafted, window.per_position)
    return found


def one_by_one(text: bytes) -> Reading:
    """Only the lines that a search looks for."""
    lines = re.findall(rb"[^\n]*\n|[^\n]+$", text)
    return read([_FIRST, *(line for line in lines if SPEC.search(line))])


def same(text: bytes) -> bool:
    slow, fast = one_by_one(text), searched(text)
    assert not any(faults(window) for window in fast.windows)
    return (slow.kept, totals(slow), slow.reasons) == (fast.kept, totals(fast), fast.reasons)


@st.composite
def spec_lines(draw: st.DrawFn) -> str:
    """A line of any of the wordings, with equal or unequal drafts, whole or damaged."""
    rounds, counts = draw(rounds_and_counts(most=3000))
    line = printed(rounds, counts)
    match draw(st.integers(0, 5)):
        case 0:
            line = unequal(draw(st.integers(8, 400)))
        case 1:
            found = re.search(
                r"(Mean acceptance length: [\d.]+, ).*(Accepted: .*), Avg (Draft acceptance rate: .*)", line
            )
            assert found is not None
            line = f"INFO 05-09 12:25:53 [metrics.py:82] SpecDecoding metrics: {found[3]}, {found[1]}{found[2]}"
        case 2:
            at = draw(st.integers(0, len(line)))
            line = (
                line[:at] + draw(st.sampled_from([*_WORDS, "1", "x", ",", " "])) + line[at + draw(st.integers(0, 3)) :]
            )
        case 3:
            line = draw(st.sampled_from(["", "\x1b[1;36m(APIServer pid=7)\x1b[0;0m ", "vllm | ", '{"log": "'])) + line
    return line


@given(st.lists(spec_lines(), max_size=12), st.sampled_from(["\n", "\r\n", "\n%\n", "\nGPU KV cache usage: 4.8%\n"]))
def test_lines_in_bulk_give_what_they_give_one_by_one(lines: list[str], between: str) -> None:
    """Property: windows, sums by k and reasons are the same, also where a line shows that drafts may be short."""
    assert same("".join(line + between for line in lines).encode())


@given(st.lists(st.sampled_from(PIECES) | st.sampled_from(_WORDS)).map("".join))
def test_pieces_of_lines_in_bulk_give_what_they_give_one_by_one(text: str) -> None:
    """Property: as above, for what looks like a log and is none."""
    assert same(text.encode())


@given(st.binary(), st.binary(max_size=3))
def test_any_bytes_in_bulk_give_what_they_give_one_by_one(noise: bytes, between: bytes) -> None:
    """Property: as above, for bytes around whole lines."""
    line = printed(9, [4, 1]).encode()
    assert same(noise + line + between + line + b"\n" + noise + line + noise)


def test_lines_are_found_among_very_many_of_their_first_letter() -> None:
    line = printed(20, [10, 5]) + "\n"
    text = "M" * 3000 + "\n" + (line + "Mean M\n") * 700 + "M" * 3000 + line
    assert same(text.encode())
    assert searched(text.encode()).kept == 702


def test_many_lines_of_many_shapes_give_exact_sums() -> None:
    rounds = [(20 + 7 * i, [10 + i % 9, 5, i % 5]) for i in range(3000)]
    reading = searched(b"".join(printed(r, c).encode() + b"\n" for r, c in rounds))
    window = pool(reading.windows[1:])
    assert (reading.kept, reading.thrown_out) == (3001, ())
    assert (window.rounds, window.accepted) == (sum(r for r, _ in rounds), sum(sum(c) for _, c in rounds))


def test_figures_before_the_message_are_not_taken_for_its_own() -> None:
    front = "\x1b[36mMean acceptance length: 9.99, " + printed(30, [20, 5]).split("metrics: ")[1].split(", Avg")[0]
    lines = [f"{front} {printed(rounds, [10, 5])}\n" for rounds in (20, 21, 22)]
    assert same("".join(lines).encode())


def test_lines_that_are_longer_than_a_row_are_read_alone() -> None:
    lines = [f"{'x' * width} {printed(20, [10, 5])}{tail}" for width in (0, 900) for tail in ("", ", more" * 300)]
    reading = searched("".join(line + "\n" for line in lines).encode())
    assert pool(reading.windows[1:]).rounds == 80


def test_windows_of_another_place_in_the_source_are_kept_apart() -> None:
    old, new = (printed(20, [10, 5]).replace("metrics.py:101", f"metrics.py:{line}") for line in (96, 120))
    reading = searched((old + "\n").encode() * 50 + (new + "\n").encode() * 50)
    assert [(one.version, one.window.rounds) for one in reading.seen[1:]] == [
        ("0.10.2-0.11.0", 1000),
        ("0.24.0-0.33.0", 1000),
    ]
    assert reading.windows[1] == Window(1000, 750, 2000, (500, 250), 2, source="log")
