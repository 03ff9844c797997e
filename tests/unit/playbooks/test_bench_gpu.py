"""How busy the GPUs are before a run: others' work counts, the tail of our own does not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from inventory.shell import Result
from playbooks import bench_gpu
from playbooks.bench_gpu import GpuWatch
from tests.local_shell import LocalShell


class Gpus(LocalShell):
    """Says one utilization after the other, in percent; the last one again and again."""

    def __init__(self, *utilizations: int) -> None:
        super().__init__()
        self.utilizations = list(utilizations)

    def run(self, script: str, **_: object) -> Result:
        now = self.utilizations.pop(0) if len(self.utilizations) > 1 else self.utilizations[0]
        return Result(0, f"GPU-0000, {now}, 42, 213.0, 1980, 1980, 0x0000000000000000\n", "")


@pytest.mark.parametrize(
    ("said", "busy", "waited"),
    [
        ((0,), 0.0, []),
        ((21, 0), 0.0, [0.5]),  # an H200, right after the gate: 21, 25 and 20 % were seen
        ((97, 60, 3), 0.03, [0.5, 1.0]),
        ((40,), 0.4, [0.5, 1.0, 2.0]),
    ],
)
def test_only_what_stays_is_somebody_elses(said: tuple[int, ...], busy: float, waited: list[float]) -> None:
    waits: list[float] = []
    watch = GpuWatch(Gpus(*said), 1, waits.append)
    assert (watch.idle_utilization, waits) == (busy, waited)


@pytest.mark.parametrize(
    ("said", "late", "seen"),
    [
        ((0, 97), False, (1, 0.97, 213.0)),
        ((0, 97), True, (0, None, None)),  # answered when the run was over
        ((0, 0), False, (0, None, None)),  # the driver's mean is still of the second before a short run
    ],
)
def test_a_reading_that_saw_nothing_of_a_run_is_no_measurement(
    said: tuple[int, ...], late: bool, seen: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def once(what: Callable[[], None], **_: float) -> Iterator[None]:
        if not late:
            what()
        yield
        if late:
            what()

    monkeypatch.setattr(bench_gpu, "again_and_again", once)
    watch = GpuWatch(Gpus(*said), 1)
    with watch.watching():
        pass
    assert (watch.during.readings, watch.during.utilization, watch.during.power_w) == seen
