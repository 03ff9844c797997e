"""What our readers make of one server's life, beside what the engine counted itself."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from roles.acceptance import counters
from roles.acceptance.loglines import read as read_log
from roles.acceptance.reading import Reading
from roles.acceptance.window import Window, pool
from roles.server.phases import Startup
from roles.server.phases import read as read_phases
from roles.server.signatures import diagnose
from tests.lab.ladder.serve import Ran

FIRST_V1_LINES = (0, 8, 5)
"""The release whose V1 engine first prints what was drafted."""


@dataclass(frozen=True)
class Verdict:
    """counted: the engine's own window between the two readings; told: the log's; phases in the order they came."""

    counted: Window
    told: Window
    reading: Reading
    phases: tuple[str, ...]
    ready: bool
    faults: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """For people, and for a case."""
        return {
            "counted": _counts(self.counted),
            "told": _counts(self.told),
            "phases": list(self.phases),
            "versions": list(self.reading.versions),
            "method": self.reading.method,
            "thrown_out": [asdict(one) for one in self.reading.thrown_out],
            "faults": list(self.faults),
        }


def judge(ran: Ran, version: str, *, speculates: bool) -> Verdict:
    """Read the log and the counters. version: what was installed."""
    counted = counters.delta(counters.read(ran.before), counters.read(ran.after))
    reading = read_log(ran.log.encode().splitlines())
    told = pool(reading.windows)
    phases, startup = phases_of(ran.log.splitlines())
    faults = (*_faults(counted, told, reading, startup, version, speculates=speculates), *_misdiagnosed(ran.log))
    return Verdict(counted, told, reading, phases, startup.ready, faults)


def phases_of(lines: list[str]) -> tuple[tuple[str, ...], Startup]:
    """The phases of a start in the order in which they were seen, and how far it came."""
    seen: list[str] = []
    startup = Startup()
    for line in lines:
        startup = read_phases([line], startup)
        if startup.phase and startup.phase not in seen:
            seen.append(startup.phase)
    return tuple(seen), startup


def _faults(
    counted: Window, told: Window, reading: Reading, startup: Startup, version: str, *, speculates: bool
) -> Iterator[str]:
    if not startup.ready:
        yield f"its start is not read to the end: {startup.phase or 'no phase'}"
    if not any(version.startswith(said) or said.startswith(version) for said in reading.versions):
        yield f"its version is read as {', '.join(reading.versions) or 'nothing'}"
    if not speculates:
        if counted.rounds or told.rounds:
            yield "drafts are counted where nothing drafts"
        return
    if not counted.rounds:
        yield f"its counters give no window: {'; '.join(counted.doubts)}"
    if not told.rounds:
        yield f"its log gives no window: {reading.why_nothing}"
    for name in ("rounds", "accepted", "drafted", "per_position"):
        ours, theirs = getattr(told, name), getattr(counted, name)
        if counted.rounds and told.rounds and ours != theirs:
            yield f"{name}: the log gives {ours}, the counters {theirs}"
    for line in reading.thrown_out:
        if "no token was drafted" not in line.reason:
            yield f"line {line.number} is thrown out: {line.reason}"


def _misdiagnosed(log: str) -> Iterator[str]:
    """A server that served and was stopped has died of nothing."""
    cause = diagnose(log.splitlines())
    if cause.signature is not None:
        yield f"it is said to have died of {cause.signature.id}: {cause.line}"


def _counts(window: Window) -> dict[str, object]:
    return {
        "rounds": window.rounds,
        "accepted": window.accepted,
        "drafted": window.drafted,
        "per_position": list(window.per_position),
        "k": window.k,
        "doubts": list(window.doubts),
    }
