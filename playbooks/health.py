"""invoke health: alive, the right model, and one completion that came back."""

from dataclasses import asdict, dataclass, replace

from rich.console import RenderableType

from inventory.errors import ExitCode, SpecrailError
from playbooks.reach import get_in
from playbooks.site import Site
from playbooks.verify import health
from roles.load.client import complete_sync
from roles.load.prompts import load_prompts
from roles.server.health import Health, wrong_model


@dataclass(frozen=True)
class HealthOutcome:
    """What the server answered; why is None for a healthy one."""

    host: str
    health: Health
    why: str | None
    latency_s: float | None

    @property
    def exit_code(self) -> ExitCode:
        """Healthy or not."""
        return ExitCode.DONE if self.why is None else ExitCode.FAILED

    def as_json(self) -> dict[str, object]:
        """All of it."""
        return {"healthy": self.why is None, "why": self.why, "latency_s": self.latency_s, **asdict(self.health)}

    def render(self) -> RenderableType:
        """One line."""
        if self.why is None:
            return f"{self.host} is healthy: {', '.join(self.health.models)}, one completion in {self.latency_s:.2f} s"
        return f"{self.host} is not healthy: {self.why}\n  Log:  invoke logs --host {self.host}"


def run(site: Site) -> HealthOutcome:
    """Ask."""
    if site.host.server.reach == "tunnel":
        get_in(site)
    seen = health(site)
    why = seen.detail if not seen.serves else wrong_model(seen, site.host.model.served_name)
    latency_s = None
    if why is None:
        with site.endpoint() as endpoint:
            try:
                answer = complete_sync(endpoint, load_prompts(limit=1)[0], max_tokens=8, timeout_s=60)
                latency_s = answer.latency_s
                seen = replace(seen, answers=True)
            except SpecrailError as error:
                why = f"/health is 200, but a completion failed: {error.what}"
    return HealthOutcome(site.name, seen, why, latency_s)
