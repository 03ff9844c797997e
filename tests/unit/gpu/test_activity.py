"""What GPUs do, from what nvidia-smi prints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.gpu.activity import QUESTION, Activities, Activity, parse, together

ROW = "GPU-5f8c1e2a, {busy}, {heat}, {power}, {clock}, 1980, {bits}\n"


def row(busy: object = 97, heat: object = 61, power: object = "284.31", clock: object = 1980, bits: str = "0x0") -> str:
    return ROW.format(busy=busy, heat=heat, power=power, clock=clock, bits=bits)


def test_a_row_is_read() -> None:
    assert parse(row(bits="0x0000000000000024")) == (Activity("GPU-5f8c1e2a", 0.97, 61, 284.31, 1980, 1980, 0x24),)


def test_a_real_gpu_is_read_idle_and_at_its_power_limit() -> None:
    """An H200 with driver 580, before and while it multiplied matrices."""
    uuid = "GPU-a312809c-85ee-abec-aeaa-b8ea1ba91857"
    idle = parse(f"{uuid}, 0, 36, 78.97, 345, 1980, 0x0000000000000001\n")
    busy = parse(f"{uuid}, 100, 60, 692.02, 1500, 1980, 0x0000000000000004\n")
    assert str(together([idle])) == "0 % busy, at most 36 C, 79 W, 17 % of the highest clock"
    assert str(together([busy])) == (
        "100 % busy, at most 60 C, 692 W, 76 % of the highest clock, at the power limit 100 % of the time"
    )
    assert together([busy]).heat == 0


def test_what_the_driver_does_not_say_is_unknown() -> None:
    (gpu,) = parse(row(power="[N/A]", bits="[Not Supported]"))
    assert (gpu.power_w, gpu.reasons) == (None, None)


@pytest.mark.parametrize(
    "answer", ["", "NVIDIA-SMI has failed", 'Field "x" is not a valid field to query.\n', "GPU-1, 2"]
)
def test_an_answer_without_rows_is_no_gpu(answer: str) -> None:
    assert parse(answer) == ()


def test_readings_come_together() -> None:
    found = together([parse(row(busy=100, heat=60, clock=1980)), parse(row(busy=50, heat=90, clock=990, bits="0x40"))])
    assert found == Activities(2, 0.75, 90, 284.31, 0.75, heat=0.5, power_cap=0.0)
    assert str(found) == "75 % busy, at most 90 C, 284 W, 75 % of the highest clock, slowed by heat 50 % of the time"


@pytest.mark.parametrize(
    ("bits", "heat", "power"),
    [
        ("0x0", 0, 0),
        ("0x1", 0, 0),  # idle
        ("0x2", 0, 0),  # clocks that the operator has set
        ("0x4", 0, 1),
        ("0x8", 1, 0),
        ("0x20", 1, 0),
        ("0x40", 1, 0),
        ("0x80", 0, 1),
        ("0x48", 1, 0),
    ],
)
def test_bits_say_what_holds_the_clocks_down(bits: str, heat: float, power: float) -> None:
    found = together([parse(row(bits=bits))])
    assert (found.heat, found.power_cap) == (heat, power)


def test_only_the_gpus_of_the_engine_count() -> None:
    other = row(busy=100, heat=95, bits="0x40")
    assert together([parse(row(busy=0, heat=30) + other)], used=1).hottest_c == 30
    assert together([], used=1) == Activities()
    assert together([()]) == Activities()


def test_older_drivers_are_asked_by_the_older_name() -> None:
    assert QUESTION.index("clocks_event_reasons") < QUESTION.index("||") < QUESTION.index("clocks_throttle_reasons")


@given(st.text())
def test_any_answer_is_read(answer: str) -> None:
    """Whatever is printed, nothing raises."""
    str(together([parse(answer)]))
