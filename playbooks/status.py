"""invoke status: what runs, what is promoted, whether it answers, and who is at work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from inventory.errors import ExitCode, SpecrailError
from inventory.ssh.ask import ask
from playbooks.owner import alive, owner_of
from playbooks.reach import get_in
from playbooks.site import Site
from playbooks.survey import release_questions, releases_of
from playbooks.verify import health
from roles.gpu import facts as gpu_facts
from roles.gpu.facts import GpuFacts
from roles.release import audit
from roles.release.facts import ReleaseFacts
from roles.release.lock import stale_reason
from roles.server.health import Health

_AUDIT_LINES = 3


@dataclass(frozen=True)
class StatusOutcome:
    """One look at a host. lock_is_stale: why the lock on it holds nobody up, None while somebody may be at work."""

    host: str
    release: ReleaseFacts
    health: Health
    gpu: GpuFacts
    gpus_wanted: bool
    last: Sequence[Mapping[str, object]]
    lock_is_stale: str | None = None

    @property
    def exit_code(self) -> ExitCode:
        """A host that serves its promoted release is fine; anything else is worth an exit code."""
        return ExitCode.DONE if self.health.serves else ExitCode.FAILED

    def as_json(self) -> dict[str, object]:
        """All of it."""
        release = self.release
        pending = release.pending
        return {
            "current": release.current,
            "promoted": release.promoted,
            "pending": pending and {**vars(pending), "seconds_left": pending.deadline - release.now},
            "server": {
                "running": release.server_running,
                "alive": self.health.alive,
                "models": list(self.health.models),
                "version": self.health.version,
                "detail": self.health.detail,
            },
            "lock": {**release.lock, "stale": self.lock_is_stale} if release.lock is not None else None,
            "free_bytes": release.free_bytes,
            "gpus": [vars(gpu) for gpu in self.gpu.gpus],
            "driver": {"kernel_module": self.gpu.kernel_module, "userland": list(self.gpu.userland)},
            "audit": [dict(entry) for entry in self.last],
        }

    def render(self) -> RenderableType:
        """One row a fact."""
        grid = Table.grid(padding=(0, 2, 0, 0))
        for label, text in self.rows():
            grid.add_row(Text(label, no_wrap=True), Text(text))
        return grid

    def rows(self) -> list[tuple[str, str]]:
        """Label and text, in the order in which they are told."""
        release, server = self.release, self.health
        rows = [(self.host, self._server())]
        current = release.release(release.current)
        if release.current:
            manifest = current.manifest if current else None
            engine = (
                f"{manifest.engine.get('source')}, {manifest.engine.get('venv')}" if manifest else "manifest unreadable"
            )
            tokens = f", {manifest.tokens} speculative tokens" if manifest and manifest.tokens else ""
            rows.append(("current", f"{release.current}   {engine}{tokens}"))
            gate = current.outcome if current else None
            rows.append(("gate", gate or "has not run"))
        else:
            rows.append(("current", "nothing is deployed"))
        same = release.promoted and release.promoted == release.current
        rows.append(("promoted", "the same" if same else release.promoted or "none"))
        if release.pending:
            rows.append(("pending", release.pending.in_words(release.now)))
        if release.lock is not None:
            rows.append(("locked", self._locked(release.lock)))
        if self.gpus_wanted:
            rows += self._gpu_rows()
        if release.free_bytes is not None:
            rows.append(("disk", f"{release.free_bytes / 1e9:.1f} GB free"))
        for entry in self.last:
            rows.append(
                ("audit", " ".join(str(entry.get(key) or "") for key in ("at", "event", "verb", "release")).strip())
            )
        if release.current is None:
            rows.append(("next", f"invoke deploy --host {self.host}"))
        elif server.detail and not server.serves:
            rows.append(("next", f"invoke logs --host {self.host}"))
        return rows

    def _locked(self, lock: Mapping[str, object]) -> str:
        words = f"by {lock.get('who')} at {lock.get('controller')}: {lock.get('verb')}"
        if self.lock_is_stale:
            return f"{words}; {self.lock_is_stale}: the next deploy takes over"
        expires = lock.get("expires")
        return f"{words}, lease ends in {expires - self.release.now} s" if isinstance(expires, int) else words

    def _server(self) -> str:
        if self.health.serves:
            return f"serves {', '.join(self.health.models)} (engine {self.health.version or 'version unknown'})"
        if self.release.server_running:
            return f"server process runs, does not serve: {self.health.detail}"
        return "server is stopped"

    def _gpu_rows(self) -> list[tuple[str, str]]:
        if self.gpu.smi_failure:
            return [("gpu", self.gpu.smi_failure)]
        names = [
            f"{gpu.index} {gpu.name}, {gpu.memory_used_mib or 0} of {gpu.memory_total_mib} MiB" for gpu in self.gpu.gpus
        ]
        return [("gpu", name) for name in names] + [("driver", self.gpu.kernel_module or "not loaded")]


def run(site: Site) -> StatusOutcome:
    """Look; change nothing. One exec."""
    get_in(site)
    answers = ask(
        site.shell,
        {
            **release_questions(site),
            "gpu": gpu_facts.question(site.host.paths),
            "audit": audit.question(site.layout, _AUDIT_LINES),
        },
    )
    release = releases_of(site, answers)
    try:
        seen = health(site)
    except SpecrailError as error:
        seen = Health(alive=False, detail=error.what)
    return StatusOutcome(
        host=site.name,
        release=release,
        health=seen,
        gpu=gpu_facts.parse(answers["gpu"].text),
        gpus_wanted=bool(site.host.container.gpus.indices),
        last=audit.parse(answers["audit"].text),
        lock_is_stale=stale_reason(
            release.lock, now=release.now, boot_id=release.boot_id, me=owner_of(site), alive=alive
        )
        if release.lock is not None
        else None,
    )
