"""What a person types at a prompt, and what comes back."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from tests.lab import hosts
from tests.lab.ground import Lab

CHECKOUT = Path(__file__).resolve().parents[2]
INVOKE = Path(sys.executable).with_name("invoke")
HOST = "ct129"
WRONG_CONFIG = "tests/lab/drafters/wrong-qwen3.6-27b.json"

_PATIENCE_S = 120
"""Ends a test that has failed anyway."""

QUICK: Mapping[str, object] = {
    "defaults.server.env.SPECRAIL_LAB_CLOCK": "60",
    "defaults.gate.prompts": 8,
    "defaults.bench.prompts": 4,
}
"""For tests to which it does not matter how exactly is measured."""


@dataclass(frozen=True)
class Said:
    """What one command left on the screen. code is negative for one that a signal ended."""

    typed: str
    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        """Both streams on single spaces, so that nothing depends on where lines break."""
        return " ".join(f"{self.err}\n{self.out}".split())

    @property
    def error(self) -> str:
        """The error at the end of stderr, without the talk before it; empty when there is none."""
        verb = re.escape(self.typed.split()[0])
        found = re.search(rf"^{verb}(?: [a-z0-9]+)?(?: ·|:) .*\Z", self.err, re.DOTALL | re.MULTILINE)
        return found[0] if found else ""

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document that is all of stdout. Raises ValueError for less and for more."""
        document: dict[str, Any] = json.loads(self.out)
        return document

    @property
    def answer(self) -> dict[str, Any]:
        """What the document says of its only host."""
        (answer,) = self.document["hosts"]
        assert isinstance(answer, dict)
        return answer


class Person:
    """Somebody with a home, a place for specrail's state and an inventory, all three below one folder."""

    def __init__(
        self, lab: Lab, folder: Path, changes: Mapping[str, object] = QUICK, *, patience_s: float = _PATIENCE_S
    ) -> None:
        self._lab = lab
        self._patience_s = patience_s
        self.folder = folder
        self.home = folder / "home"
        self.state = folder / "state"
        self.home.mkdir(parents=True)
        self.inventory = self.writes("hosts.yml", changes)

    def types(self, line: str, *, inventory: Path | None = None, **environment: str) -> Said:
        """Type `invoke LINE` in the checkout, with an environment that has nothing else in it. Nobody is asked."""
        ended = subprocess.run(
            [INVOKE, *shlex.split(line)],
            cwd=CHECKOUT,
            env=self.environment(inventory) | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=self._patience_s,
            check=False,
        )
        return Said(line, ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def environment(self, inventory: Path | None = None) -> dict[str, str]:
        """The environment of what this person starts."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "SPECRAIL_INVENTORY": str(inventory or self.inventory),
            "SPECRAIL_STATE": str(self.state),
        }

    def writes(self, name: str, changes: Mapping[str, object]) -> Path:
        """Write an inventory: the lab's with these values, each at a dotted path. A None takes the key away."""
        file = self.folder / name
        hosts.change(self._lab.inventory, changes, file)
        return file


def rows(text: str, columns: int = 120) -> int:
    """Rows of a screen that a text takes."""
    return sum(max(1, ceil(len(line) / columns)) for line in text.splitlines())
