"""invoke status: what runs, what is promoted, whether it answers, and who is at work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from inventory.errors import ExitCode, SpecrailError
from inventory.ssh.ask import ask
from playbooks.reach import get_in
from playbooks.site import Site
from playbooks.survey import release_questions, releases_of
from playbooks.verify import health
from roles.gpu import facts as gpu_facts
from roles.gpu.facts import GpuFacts
from roles.release import audit
from roles.release.facts import Pending, ReleaseFacts
from roles.server.health import Health

_AUDIT_LINES = 3


@dataclass(frozen=True)
class StatusOutcome:
    """One look at a host. gpu_driver_node: the node's kernel module as the container sees it."""

    host: str
    release: ReleaseFacts
    health: Health
    gpu: GpuFacts
    gpus_wanted: bool
    last: Sequence[Mapping[str, object]]

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
            "lock": dict(release.lock) if release.lock is not None else None,
            "free_bytes": release.free_bytes,
            "gpus": [vars(gpu) for gpu in self.gpu.gpus],
            "driver": {"kernel_module": self.gpu.kernel_module, "userland": list(self.gpu.userland)},
            "audit": [dict(entry) for entry in self.last],
        }

    def render(self) -> RenderableType:
        """One row a fact."""
        grid = Table.grid(padding=(0, 2, 0, 0))
        for label, text in self._rows():
            grid.add_row(Text(label, no_wrap=True), Text(text))
        return grid

    def _rows(self) -> list[tuple[str, str]]:
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
            rows.append(("current", f"nothing is deployed: invoke deploy --host {self.host}"))
        rows.append(("promoted", "the same" if release.promoted == release.current else release.promoted or "none"))
        if release.pending:
            rows.append(("pending", _pending(release.pending, release.now)))
        if release.lock is not None:
            lock = release.lock
            expires = lock.get("expires")
            left = f", lease ends in {expires - release.now} s" if isinstance(expires, int) else ""
            rows.append(("locked", f"by {lock.get('who')} at {lock.get('controller')}: {lock.get('verb')}{left}"))
        if self.gpus_wanted:
            rows += self._gpu_rows()
        if release.free_bytes is not None:
            rows.append(("disk", f"{release.free_bytes / 1e9:.1f} GB free"))
        for entry in self.last:
            rows.append(
                ("audit", " ".join(str(entry.get(key) or "") for key in ("at", "event", "verb", "release")).strip())
            )
        if server.detail and not server.serves:
            rows.append(("next", f"invoke logs --host {self.host}"))
        return rows

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


def _pending(pending: Pending, now: int) -> str:
    left, back_to = pending.deadline - now, pending.previous or "nothing"
    if left > 0:
        return f"goes back to {back_to} in {left} s unless confirmed"
    return f"should have gone back to {back_to} {-left} s ago; the next start of the server does, and so does a deploy"


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
    )
