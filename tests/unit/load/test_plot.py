"""Speed over latency in characters."""

from hypothesis import given
from hypothesis import strategies as st

from roles.load.plot import Load, speed_over_latency

SWEEP = [Load(1, 40, 0.016), Load(4, 140, 0.02), Load(8, 200, 0.032)]


def test_a_point_stands_where_its_speed_and_latency_are_and_says_its_streams() -> None:
    lines = speed_over_latency({"vllm": SWEEP}).splitlines()
    assert lines[0] == "tok/s of all streams"
    assert lines[1].endswith("c8")
    assert lines[1].startswith("    200 |")
    assert [line.find("c1") for line in lines if "c1" in line] == [lines[12].index("|") + 1]
    assert lines[-1].split() == ["16.0", "24.0", "32.0", "TPOT", "ms"]


def test_two_sweeps_have_letters_of_their_own_and_names() -> None:
    drawn = speed_over_latency({"vllm": SWEEP, "sglang": SWEEP[:2]})
    assert "a: vllm" in drawn
    assert "b: sglang" in drawn
    assert "a8" in drawn
    assert "b8" not in drawn


def test_one_point_is_no_plot() -> None:
    assert speed_over_latency({"vllm": [*SWEEP[:1], Load(4, 140, None)]}) == ""
    assert speed_over_latency({}) == ""


@given(
    st.dictionaries(
        st.text("ab =0", max_size=5),
        st.lists(st.builds(Load, st.integers(1, 999), st.floats(1e-3, 1e6), st.floats(1e-6, 1e3)), max_size=30),
        max_size=12,
    )
)
def test_any_loads_fit_the_frame(swept: dict[str, list[Load]]) -> None:
    """Whatever was measured, the grid keeps its 12 rows, and no row is wider than a terminal."""
    lines = speed_over_latency(swept).splitlines()
    assert not lines or len([line for line in lines if line[7:9] == " |"]) == 12
    assert all(len(line) <= 100 for line in lines)
