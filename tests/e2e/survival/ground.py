"""A practice ground with a host that serves, what may be changed about it, and what lies on it."""

import contextlib
import itertools
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.survival.command import PATIENCE_S, Command, Ended
from tests.lab.ground import Lab

CTID = 129
HOST = "ct129"
MODEL = "Qwen3.6-27B"

Change = Mapping[str, Mapping[str, object]]

QUICK: Change = {
    "server": {"start_timeout_s": 20, "stop_timeout_s": 5},
    # Whether the drafter is any good is not the question here: what has drafts passes.
    "gate": {"prompts": 3, "max_tokens": 20, "timeout_s": 20, "min_acceptance_length": 1, "max_drop": 1},
}
"""For a deploy that nothing should hold up."""

IMPATIENT: Change = {
    "server": {"start_timeout_s": 4, "stop_timeout_s": 1},
    "gate": {**QUICK["gate"], "timeout_s": 3},
}
"""For a deploy that the host shall go back from within seconds."""

_CLOCK = "60"


@dataclass(frozen=True)
class Seen:
    """What lies on a host, read from its files: nothing of specrail's has a say in it.

    pending and lock: their files' content, None where there is none; timers: nonces of the timers that run
    """

    current: str | None
    promoted: str | None
    pending: dict[str, str] | None
    lock: dict[str, Any] | None
    timers: tuple[str, ...]
    releases: tuple[str, ...]
    events: tuple[str, ...]

    @property
    def settled(self) -> bool:
        """Whether what is current is promoted, and nobody is at work."""
        return (
            self.current is not None and self.current == self.promoted and self.pending is None and self.lock is None
        )


class Ground:
    """One lab, its inventories, and the commands that were started."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder
        self._commands: list[Command] = []
        self._tokens = itertools.cycle(range(3, 15))
        self._names = itertools.count()
        self.tokens = 15
        """Speculative tokens of the deploy that the host was brought to last."""

    # ------------------------------------------------------------------------------------ commands

    def inventory(self, change: Change = QUICK, host: Mapping[str, Mapping[str, object]] | None = None) -> Path:
        """The lab's inventory with other values in `defaults`, and in ct129's own."""
        document = yaml.safe_load(self.lab.inventory.read_text())
        document["defaults"]["server"]["env"]["SPECRAIL_LAB_CLOCK"] = _CLOCK
        for role, values in change.items():
            _merge(document["defaults"][role], values)
        for role, values in (host or {}).items():
            _merge(document["hosts"][HOST].setdefault(role, {}), values)
        path = self.folder / f"hosts-{next(self._names)}.yml"
        path.write_text(yaml.safe_dump(document))
        return path

    def start(self, *words: str, inventory: Path | None = None) -> Command:
        """Start `invoke WORDS --host ct129` (unless the words name a host)."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SPECRAIL_")},
            "HOME": str(home),
            "SPECRAIL_INVENTORY": str(inventory or self.inventory()),
            "SPECRAIL_STATE": str(self.folder / "state"),
            "COLUMNS": "200",
        }
        arguments = words if "--host" in words else (*words, "--host", HOST)
        command = Command(arguments, environment)
        self._commands.append(command)
        return command

    def run(self, *words: str, inventory: Path | None = None) -> Ended:
        """Run a command to its end."""
        return self.start(*words, inventory=inventory).end()

    def other_tokens(self) -> str:
        """A number of speculative tokens that is not deployed: what makes a deploy have something to do."""
        return str(next(number for number in self._tokens if number != self.tokens))

    def converge(self, tokens: str) -> Ended:
        """Deploy with nothing in the way; it must come to rest with that many tokens in service."""
        ended = self.run("deploy", "--tokens", tokens)
        assert ended.code == 0, ended.said
        assert "Traceback" not in ended.said
        seen = self.seen()
        assert seen.settled, seen
        assert self.serves(), ended.said
        assert self.tokens_of(seen.current) == int(tokens), ended.said
        self.tokens = int(tokens)
        return ended

    def clean_up(self) -> None:
        """End what a test has left running, and heal the lab."""
        for command in self._commands:
            command.clean_up()
        self._commands.clear()
        for name in ("ssh-down", "ssh-frozen", "api-slow"):
            arguments = {} if name.startswith("api") else {"ctid": CTID}
            self.lab.fault(name, on=False, **arguments)

    # ------------------------------------------------------------------------------------ the host

    def base(self, ctid: int = CTID) -> Path:
        """The service's folder in a container."""
        return self.lab.layout.container(ctid) / "opt/specrail/vllm"

    def seen(self, ctid: int = CTID) -> Seen:
        """Read the host's files."""
        base = self.base(ctid)
        releases = base / "releases"
        return Seen(
            current=_link(base / "current"),
            promoted=_link(base / "promoted"),
            pending=_pending(base / "pending"),
            lock=_lock(base / "lock"),
            timers=tuple(
                found[1]
                for process in self.lab.processes(ctid)
                if (found := re.search(r"control\.sh timer (\S+)", " ".join(process.argv)))
            ),
            releases=tuple(sorted(path.name for path in releases.iterdir() if not path.name.startswith(".")))
            if releases.is_dir()
            else (),
            events=tuple(_events(base / "audit.jsonl")),
        )

    def tokens_of(self, release: str | None) -> int | None:
        """Speculative tokens of a release, from its manifest."""
        if release is None:
            return None
        manifest = json.loads((self.base() / "releases" / release / "manifest.json").read_text())
        return int(manifest["drafter"]["tokens"])

    def commit_of(self, release: str | None) -> str:
        """The engine's commit in a release's manifest."""
        assert release is not None
        manifest = json.loads((self.base() / "releases" / release / "manifest.json").read_text())
        return str(manifest["engine"]["commit"])

    def engines(self, ctid: int = CTID) -> list[int]:
        """Process ids of the engines that run in the container."""
        return [process.pid for process in self.lab.processes(ctid) if _is_engine(process.argv)]

    def serves(self, ctid: int = CTID) -> bool:
        """Whether the engine lists its model, asked without specrail."""
        return self.models(ctid) != ()

    def models(self, ctid: int = CTID) -> tuple[str, ...]:
        """The models that the server lists; none when it does not answer."""
        port = self.lab.status()["containers"][f"ct{ctid}"]["server_port"]
        key = (self.lab.layout.secrets / "api-key").read_text().strip()
        request = urllib.request.Request(  # noqa: S310 - http on loopback
            f"http://127.0.0.1:{port}/v1/models", headers={"Authorization": f"Bearer {key}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
                return tuple(model["id"] for model in json.load(answer)["data"])
        except (OSError, urllib.error.URLError, ValueError):
            return ()

    def log(self, ctid: int = CTID) -> str:
        """The engine's log."""
        path = self.lab.layout.container(ctid) / "var/log/specrail/vllm/serve.log"
        return path.read_text(errors="replace") if path.exists() else ""


def eventually(condition: Callable[[], bool], what: str = "", timeout_s: float = PATIENCE_S) -> None:
    """Wait until something is so; the bound only ends a test that has failed anyway."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"did not come to be: {what}"
        time.sleep(0.05)


def _is_engine(argv: tuple[str, ...]) -> bool:
    return any(word.endswith("/vllm") for word in argv[:2]) and "serve" in argv[:4]


def _merge(into: dict[str, Any], values: Mapping[str, object]) -> None:
    for key, value in values.items():
        if isinstance(value, Mapping):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


def _link(path: Path) -> str | None:
    return path.readlink().name if path.is_symlink() else None


def _pending(path: Path) -> dict[str, str] | None:
    with contextlib.suppress(FileNotFoundError):
        return dict(line.split("=", 1) for line in path.read_text().splitlines())
    return None


def _lock(folder: Path) -> dict[str, Any] | None:
    if not folder.is_dir():
        return None
    with contextlib.suppress(FileNotFoundError, ValueError):
        details: dict[str, Any] = json.loads((folder / "details.json").read_text())
        return details
    return {}


def _events(path: Path) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return [json.loads(line)["event"] for line in path.read_text().splitlines()]
    return []
