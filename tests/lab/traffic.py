"""What came in: ssh connections, exec requests and API requests, counted and written down."""

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_LOGIN = "/access/ticket"
_KINDS = {"GET": "reads", "HEAD": "reads"}


@dataclass
class Traffic:
    """Counts since the start or the last `clear`, by machine name ("pve1", "ct129").

    API requests are those of clients; what the stand-in `pct` does on the node is not one.
    A login (POST /access/ticket) changes nothing and counts as neither read nor write.
    """

    record: Path
    connections: Counter[str] = field(default_factory=Counter)
    execs: Counter[str] = field(default_factory=Counter)
    api: Counter[str] = field(default_factory=Counter)

    def connection(self, machine: str) -> None:
        """An ssh connection was accepted (whether or not the login succeeds)."""
        self.connections[machine] += 1
        self._write(machine, "connection", "")

    def exec(self, machine: str, command: str) -> None:
        """An exec request was received."""
        self.execs[machine] += 1
        self._write(machine, "exec", command)

    def request(self, method: str, path: str, params: Mapping[str, str], client: str) -> None:
        """An API request was received, refused ones included.

        params: of query and body, secrets already taken out
        client: its User-Agent
        """
        self.api["logins" if path.endswith(_LOGIN) else _KINDS.get(method, "writes")] += 1
        self._write("api", method, path, params=dict(params), client=client)

    def counts(self) -> dict[str, dict[str, int]]:
        """All three, as JSON."""
        return {
            "connections": dict(self.connections),
            "execs": dict(self.execs),
            "api": {kind: self.api[kind] for kind in ("reads", "writes", "logins")},
        }

    def clear(self) -> None:
        """Count from zero again. The record on disk stays."""
        self.connections.clear()
        self.execs.clear()
        self.api.clear()

    def _write(self, machine: str, what: str, text: str, **more: object) -> None:
        line = {"at": round(time.time(), 3), "machine": machine, "what": what, "text": text, **more}
        with self.record.open("a", encoding="utf-8") as record:
            record.write(json.dumps(line) + "\n")
