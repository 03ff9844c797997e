"""How busy the GPUs are before a run: others' work counts, the tail of our own does not."""

import pytest

from inventory.shell import Result
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
