"""What a machine's GPUs do at a moment: load, clocks, temperature, and what holds the clocks down."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass

_FIELDS = ("uuid", "utilization.gpu", "temperature.gpu", "power.draw", "clocks.sm", "clocks.max.sm")
_REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")  # drivers before 535 know the second only
_HEAT = 0x20 | 0x40  # software and hardware thermal slowdown (nvml.h: nvmlClocksEventReasons)
_POWER = 0x04 | 0x80  # software power cap, power brake
_HARDWARE = 0x08  # hardware slowdown: heat, a power brake or a failing supply

QUESTION = " || ".join(
    f"timeout 20 nvidia-smi --query-gpu={','.join((*_FIELDS, reasons))} --format=csv,noheader,nounits 2>/dev/null"
    for reasons in _REASONS
)


@dataclass(frozen=True)
class Activity:
    """One GPU at one moment; None where the driver does not say. reasons: bits of what holds the clocks down."""

    uuid: str
    utilization: float | None
    """0-1, of the last moments."""
    temperature_c: float | None
    power_w: float | None
    clock_mhz: float | None
    max_clock_mhz: float | None
    reasons: int | None


@dataclass(frozen=True)
class Activities:
    """All GPUs over the readings of a span; shares are of the readings (0-1), None without one that says it."""

    readings: int = 0
    utilization: float | None = None
    hottest_c: float | None = None
    power_w: float | None = None
    clock: float | None = None
    """Mean clock over the highest possible one."""
    heat: float | None = None
    """Share of readings in which a GPU was slowed down by heat or by its hardware."""
    power_cap: float | None = None
    """Share of readings in which a GPU was held at its power limit: usual for large batches."""

    def __str__(self) -> str:
        known = [
            f"{100 * self.utilization:.0f} % busy" if self.utilization is not None else "",
            f"at most {self.hottest_c:.0f} C" if self.hottest_c is not None else "",
            f"{self.power_w:.0f} W" if self.power_w is not None else "",
            f"{100 * self.clock:.0f} % of the highest clock" if self.clock is not None else "",
            f"at the power limit {100 * self.power_cap:.0f} % of the time" if self.power_cap else "",
            f"slowed by heat {100 * self.heat:.0f} % of the time" if self.heat else "",
        ]
        return ", ".join(part for part in known if part)


def parse(answer: str) -> tuple[Activity, ...]:
    """Read the answer to QUESTION; lines that are not rows of it are passed over."""
    found = []
    for row in csv.reader(answer.splitlines(), skipinitialspace=True):
        if len(row) != len(_FIELDS) + 1 or not row[0].startswith("GPU-"):
            continue
        utilization, temperature, power, clock, highest = map(_number, row[1:-1])
        found.append(
            Activity(
                row[0],
                None if utilization is None else utilization / 100,
                temperature,
                power,
                clock,
                highest,
                _bits(row[-1]),
            )
        )
    return tuple(found)


def together(readings: Sequence[Sequence[Activity]], used: int | None = None) -> Activities:
    """What the readings come to. used: only the first so many GPUs are the engine's (its tensor parallel size)."""
    seen = [reading[:used] for reading in readings if reading[:used]]
    every = [gpu for reading in seen for gpu in reading]
    reasons = [[gpu.reasons for gpu in reading if gpu.reasons is not None] for reading in seen]
    told = [bits for bits in reasons if bits]
    return Activities(
        readings=len(seen),
        utilization=_mean([gpu.utilization for gpu in every]),
        hottest_c=max((gpu.temperature_c for gpu in every if gpu.temperature_c is not None), default=None),
        power_w=_mean([gpu.power_w for gpu in every]),
        clock=_mean([gpu.clock_mhz / gpu.max_clock_mhz for gpu in every if gpu.clock_mhz and gpu.max_clock_mhz]),
        heat=_share([any(bits & (_HEAT | _HARDWARE) for bits in one) for one in told]),
        power_cap=_share([any(bits & _POWER for bits in one) for one in told]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _bits(text: str) -> int | None:
    try:
        return int(text, 16)
    except ValueError:
        return None
