"""The host's own record of every operation that changed something there."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inventory.shell import Shell, command
from roles.release.layout import Layout


@dataclass(frozen=True)
class Entry:
    """One line of audit.jsonl. at is UTC, ISO 8601; event is started, finished, failed, activated, promoted ..."""

    at: str
    event: str
    operation: str
    verb: str
    by: str
    release: str | None = None
    steps: tuple[str, ...] = ()
    why: str | None = None

    def to_json(self) -> str:
        """One line, without its newline."""
        fields = {
            "at": self.at,
            "event": self.event,
            "operation": self.operation,
            "verb": self.verb,
            "by": self.by,
            "release": self.release,
            "steps": list(self.steps) or None,
            "why": self.why,
        }
        return json.dumps({name: value for name, value in fields.items() if value is not None})


def append(shell: Shell, layout: Layout, entry: Entry, *, timeout_s: float = 60) -> None:
    """Add a line. One exec; the line goes through stdin."""
    base = command(layout.base)
    line = f"{entry.to_json()}\n".encode()
    shell.run(f"umask 022; mkdir -p {base} && cat >>{base}/audit.jsonl", stdin=line, timeout_s=timeout_s)


def question(layout: Layout, lines: int) -> str:
    """Ask for the last lines."""
    return f"tail -n {lines} {command(layout.base)}/audit.jsonl 2>/dev/null || :"


def parse(text: str) -> Sequence[Mapping[str, object]]:
    """Read them; a line that is not JSON (cut by a full disk) is left out."""
    entries = []
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            entries.append(entry)
    return entries
