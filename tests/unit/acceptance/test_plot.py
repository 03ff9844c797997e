"""A history as characters."""

from hypothesis import given
from hypothesis import strategies as st

from roles.acceptance.plot import Point, terminal

FALL = [Point(f"day {i}", 3.0, f"r{i}", "pass") for i in range(5)] + [Point("day 5", 1.2, "r5", "fail")]


def test_a_fall_is_seen_at_its_end() -> None:
    lines = terminal(FALL, height=10).splitlines()
    assert lines[0] == "  3.00 |ooooo"
    assert lines[9] == "  1.20 |     x"
    assert lines[-1].split() == ["day", "0", "day", "5"]


def test_what_never_changed_is_a_line_in_the_middle() -> None:
    marked = [line for line in terminal(FALL[:5]).splitlines() if "o" in line]
    assert len(marked) == 1


def test_many_measurements_show_the_worst_of_each_column() -> None:
    points = [Point(str(i), 1.1 if i == 500 else 3.0, verdict="fail" if i == 500 else "pass") for i in range(1000)]
    plot = terminal(points, width=50)
    assert plot.count("x") == 1
    assert max(map(len, plot.splitlines())) <= 60


def test_nothing_is_said_to_be_nothing() -> None:
    assert terminal([]) == "nothing was measured yet"


@given(st.lists(st.builds(Point, st.text(), st.floats(1, 50), st.text(), st.sampled_from(["pass", None, "odd"]))))
def test_anything_that_was_measured_can_be_drawn(points: list[Point]) -> None:
    """Property: what measurements are called and however many there are, there is a plot of ten lines, or a word."""
    drawn = terminal(points)
    assert drawn.count("|") >= 10 if points else drawn
