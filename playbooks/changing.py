"""What every verb that changes a host does around its work: the lock, the audit, and the answer."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rich.console import RenderableType

from inventory.errors import ExitCode, SpecrailError
from playbooks.bringup import Arrival
from playbooks.desired import who
from playbooks.owner import alive, owner_of
from playbooks.site import Site
from roles.acceptance.text import as_text
from roles.release.audit import Entry, append
from roles.release.lock import LEASE_S, Lock
from roles.step import Step

_GOODBYE_S = 5
"""How long somebody whose operation has failed is kept waiting for it to be written down."""


@dataclass(frozen=True)
class DeployOutcome:
    """How a deploy or rollback ended. arrival is None when nothing had to be switched."""

    host: str
    operation: str
    steps: tuple[Step, ...]
    release: str | None
    arrival: Arrival | None = None
    words: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def exit_code(self) -> ExitCode:
        """3 for a failed gate, 4 for one that could not decide."""
        if self.arrival is None or self.arrival.ending == "promoted":
            return ExitCode.DONE
        verdict = self.arrival.gate.verdict.outcome if self.arrival.gate else "fail"
        return ExitCode.INCONCLUSIVE if verdict == "inconclusive" else ExitCode.GATE_FAILED

    @property
    def stays(self) -> bool:
        """Whether what was brought up is in service now."""
        return self.arrival is None or self.arrival.ending in {"promoted", "kept"}

    def as_json(self) -> dict[str, object]:
        """All of it."""
        arrival = self.arrival
        return {
            "operation": self.operation,
            "outcome": arrival.ending
            if arrival
            else "changed"
            if any(step.changes for step in self.steps)
            else "unchanged",
            "release": self.release,
            "in_service": self.in_service,
            "steps": [step.as_json() for step in self.steps],
            "gate": arrival.gate.verdict.as_json() if arrival and arrival.gate else None,
            "causes": [vars(cause) for cause in arrival.gate.diagnosis.causes] if arrival and arrival.gate else [],
            "reverted": arrival.back if arrival else None,
            "start_s": round(arrival.started.seconds, 2) if arrival and arrival.started else None,
            "notes": list(self.notes),
        }

    @property
    def in_service(self) -> str | None:
        """Id of the release that serves now."""
        return self.release if self.stays or self.arrival is None else self.arrival.previous

    def render(self) -> RenderableType:
        """The verdict, and what is in service."""
        if self.arrival is None:
            return self.words
        gate = self.arrival.gate
        closing = {
            "promoted": "in service and promoted",
            "kept": "in service, not promoted: gate.inconclusive is keep",
        }.get(self.arrival.ending) or self.arrival.back
        if gate is None:
            return f"{self.host}: {self.release} {closing}; without a drafter there is no acceptance to judge"
        return as_text(
            gate.verdict,
            gate.diagnosis,
            host=self.host,
            release=self.arrival.release,
            prompts=gate.conditions.prompts,
            closing=closing,
            known=gate.version_facts,
        )


@contextlib.contextmanager
def locked(site: Site) -> Iterator[None]:
    """Hold the host's lock. Raises LockedError when somebody else has it."""
    lock = Lock(site.shell, site.layout, owner_of(site), alive)
    try:
        with lock:
            if lock.taken_over:
                site.talk.note(f"took the lock over from a {lock.taken_over}")
            yield
    finally:
        if lock.left_behind:
            site.talk.warn(f"the lock could not be given back; it ends by itself within {LEASE_S} s")


@contextlib.contextmanager
def record(site: Site, release: str | None, steps: tuple[str, ...]) -> Iterator[None]:
    """Write into the host's audit that this began, and how it ended."""
    append(site.shell, site.layout, _entry(site, "started", release, steps))
    try:
        yield
    except SpecrailError as error:
        _try_to_append(site, _entry(site, "failed", release, why=site.redactor(error.what)))
        raise
    except KeyboardInterrupt:
        _try_to_append(site, _entry(site, "interrupted", release, why=site.if_interrupted))
        raise
    append(site.shell, site.layout, _entry(site, "finished", release))


def _entry(site: Site, event: str, release: str | None, steps: tuple[str, ...] = (), why: str | None = None) -> Entry:
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Entry(now, event, site.operation, site.verb, who(), release, steps, why)


def _try_to_append(site: Site, entry: Entry) -> None:
    with contextlib.suppress(SpecrailError):  # what went wrong matters more than that it could not be written down
        append(site.shell, site.layout, entry, timeout_s=_GOODBYE_S)
