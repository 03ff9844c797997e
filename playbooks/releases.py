"""invoke releases: what is on a host, and what each gate said."""

import json
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table

from inventory.errors import ExitCode
from playbooks.site import Site
from playbooks.survey import release_facts
from roles.release.facts import Release, ReleaseFacts


@dataclass(frozen=True)
class ReleasesOutcome:
    """The releases of one host, oldest first."""

    host: str
    facts: ReleaseFacts
    exit_code: ExitCode = ExitCode.DONE

    def as_json(self) -> dict[str, object]:
        """One object a release."""
        return {
            "current": self.facts.current,
            "promoted": self.facts.promoted,
            "releases": [
                {
                    "id": release.id,
                    "outcome": release.outcome,
                    "acceptance_length": _length(release),
                    "manifest": json.loads(release.manifest.to_json()) if release.manifest else None,
                }
                for release in self.facts.releases
            ],
        }

    def render(self) -> RenderableType:
        """A table, newest first."""
        if not self.facts.releases:
            return f"{self.host} has no release yet: invoke deploy --host {self.host}"
        table = Table(
            box=None, pad_edge=False, header_style="dim", title=f"releases · {self.host}", title_justify="left"
        )
        for name in ("", "release", "gate", "length", "tokens", "engine"):
            # An id that is cut cannot be pasted; the engine may take a second line.
            table.add_column(
                name,
                no_wrap=name != "engine",
                overflow="fold",
                min_width=25 if name == "release" else len(name),
                justify="right" if name in {"length", "tokens"} else "left",
            )
        for release in reversed(self.facts.releases):
            manifest = release.manifest
            length = _length(release)
            table.add_row(
                self._marks(release),
                release.id,
                release.outcome or "-",
                f"{length:.2f}" if length else "-",
                str(manifest.tokens or "-") if manifest else "?",
                f"{manifest.engine.get('source')} {manifest.venv}" if manifest else "manifest unreadable",
            )
        return table

    def _marks(self, release: Release) -> str:
        marks = [word for word in ("current", "promoted") if getattr(self.facts, word) == release.id]
        return "+".join(marks)


def run(site: Site) -> ReleasesOutcome:
    """Look; change nothing."""
    return ReleasesOutcome(site.name, release_facts(site))


def _length(release: Release) -> float | None:
    try:
        estimate = json.loads(release.gate_text or "")["verdict"]["acceptance_length"]["estimate"]
    except (ValueError, KeyError, TypeError):
        return None
    return float(estimate) if isinstance(estimate, int | float) else None
