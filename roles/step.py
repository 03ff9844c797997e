"""What a plan is made of: steps that say what would change, and why nothing needs to."""

from dataclasses import dataclass, field
from typing import Literal

Action = Literal["create", "update", "start", "restart", "build", "render", "activate", "destroy", "nothing"]


@dataclass(frozen=True)
class Step:
    """One thing that a plan wants done.

    role:    the room it belongs to ("container", "engine" ...)
    action:  what kind of change; "nothing" is an answer too and says why in `summary`
    summary: one line, imperative, for people
    diff:    ("cores", "8", "16") rows: what, from, to; absent is None
    note:    what a person should know before it happens ("restarts the container")
    """

    role: str
    action: Action
    summary: str
    diff: tuple[tuple[str, str | None, str | None], ...] = field(default=())
    note: str | None = None

    @property
    def changes(self) -> bool:
        """Whether carrying it out changes anything."""
        return self.action != "nothing"

    def as_json(self) -> dict[str, object]:
        """The same facts for programs."""
        return {
            "role": self.role,
            "action": self.action,
            "summary": self.summary,
            "diff": [{"what": what, "from": old, "to": new} for what, old, new in self.diff],
            "note": self.note,
        }


def nothing(role: str, because: str) -> Step:
    """A step that changes nothing, and says why."""
    return Step(role=role, action="nothing", summary=because)
