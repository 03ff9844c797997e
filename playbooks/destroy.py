"""invoke destroy: remove a host's container and all that is in it."""

import sys
from dataclasses import dataclass

from rich.console import RenderableType

from inventory.errors import ExitCode, UsageError
from playbooks.site import Site
from roles.container import destroy
from roles.container.facts import read
from roles.container.steps import Destroy
from roles.step import Step


@dataclass(frozen=True)
class DestroyOutcome:
    """What was done."""

    host: str
    step: Step
    exit_code: ExitCode = ExitCode.DONE

    def as_json(self) -> dict[str, object]:
        """The step."""
        return {"outcome": "destroyed" if self.step.changes else "unchanged", "steps": [self.step.as_json()]}

    def render(self) -> RenderableType:
        """One line."""
        return f"{self.host}: {'done: ' if self.step.changes else ''}{self.step.summary}"


def run(site: Site, *, yes: bool) -> DestroyOutcome:
    """Plan, ask, remove. Raises UsageError when there is nobody to ask and `yes` was not given."""
    step = destroy.plan(site.name, read(site.pve, site.host.container.ctid))
    site.talk.plan([step])
    if isinstance(step, Destroy):
        if not yes:
            _ask(site, step)
        with site.talk.work("container", step.summary) as work:
            destroy.destroy(step, site.pve, work.say)
    return DestroyOutcome(site.name, step)


def _ask(site: Site, step: Destroy) -> None:
    if not sys.stdin.isatty():
        raise UsageError("nobody is there to confirm it", where=[site.name], tries=["--yes"])
    sys.stderr.write(f"Destroy container {step.ctid} ({site.name}) with everything in it? Type its name: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip() != site.name:
        raise UsageError("not confirmed; nothing was changed", where=[site.name])
