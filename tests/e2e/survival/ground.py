"""A practice ground with a host that serves, what may be changed about it, and what lies on it."""

import contextlib
import fcntl
import http.client
import itertools
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.survival.command import PATIENCE_S, Command, Ended
from tests.lab import container
from tests.lab.ground import Lab

CTID = 129
HOST = "ct129"
MODEL = "Qwen3.6-27B"

Change = Mapping[str, Mapping[str, object]]
"""Keys of the inventory's `defaults` or of a host, by their section."""

_CLOCK = "SPECRAIL_LAB_CLOCK"

# Whether a drafter is any good is not the question here: what has drafts passes.
_GATE = {"prompts": 3, "max_tokens": 20, "min_acceptance_length": 1, "max_drop": 1}


def _changes(
    start_timeout_s: float, gate_timeout_s: float, stop_timeout_s: float, clock: float, prompts: int
) -> Change:
    server = {"start_timeout_s": start_timeout_s, "stop_timeout_s": stop_timeout_s, "env": {_CLOCK: str(clock)}}
    return {"server": server, "gate": {**_GATE, "prompts": prompts, "timeout_s": gate_timeout_s}}


QUICK = _changes(start_timeout_s=20, gate_timeout_s=20, stop_timeout_s=5, clock=60, prompts=3)
"""A deploy that nothing holds up."""

LONG_GATE = _changes(start_timeout_s=20, gate_timeout_s=20, stop_timeout_s=5, clock=60, prompts=50)
"""A gate that is still going on when one has read that it began."""

SHORT_PATIENCE = _changes(start_timeout_s=3, gate_timeout_s=3, stop_timeout_s=1, clock=60, prompts=50)
"""The same, and the host goes back by itself 10 s after the switch."""

STUCK_START = _changes(start_timeout_s=2, gate_timeout_s=1, stop_timeout_s=1, clock=0.5, prompts=3)
"""A start that takes longer than anybody waits for; the host goes back by itself 6 s after the switch."""


TUNNEL: Change = {"server": {"reach": "tunnel"}}
"""For a host that is asked through ssh alone."""


_SLOW_DISK = """\
import sys, time

class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "{module}":
            print("loading", name, file=sys.stderr, flush=True)
            time.sleep({seconds})

sys.meta_path.insert(0, Slow)
"""
"""A sitecustomize.py."""


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
        return self.current is not None and self.current == self.promoted and self.pending is None and self.lock is None

    def after(self, *events: str) -> "Seen":
        """The same with more in the audit."""
        return replace(self, events=(*self.events, *events))


class Ground:
    """One lab, its inventories, and the commands that were started."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder
        self._commands: list[Command] = []
        self._tokens = itertools.cycle(range(3, 15))
        self._builds = itertools.count(100)
        self._names = itertools.count()

    # ------------------------------------------------------------------------------------ commands

    def inventory(self, defaults: Change = QUICK, host: Change | None = None) -> Path:
        """The lab's inventory with other values in `defaults`, and in ct129's own."""
        document = yaml.safe_load(self.lab.inventory.read_text())
        _merge(document["defaults"], defaults)
        _merge(document["hosts"][HOST], host or {})
        path = self.folder / f"hosts-{next(self._names)}.yml"
        path.write_text(yaml.safe_dump(document))
        return path

    def start(self, *words: str, inventory: Path | None = None, slow_to_load: str | None = None) -> Command:
        """Start `invoke WORDS --host ct129` (unless the words name a host).

        slow_to_load: a module that says so on stderr when it is loaded, and then is not loaded for a long time
        """
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SPECRAIL_")},
            "HOME": str(home),
            "SPECRAIL_INVENTORY": str(inventory or self.inventory()),
            "SPECRAIL_STATE": str(self.folder / "state"),
            "COLUMNS": "200",
        }
        if slow_to_load:
            environment["PYTHONPATH"] = str(self._slow_disk(slow_to_load))
        arguments = words if "--host" in words else (*words, "--host", HOST)
        command = Command(arguments, environment)
        self._commands.append(command)
        return command

    def _slow_disk(self, module: str) -> Path:
        folder = self.folder / f"slow-{module}"
        folder.mkdir(exist_ok=True)
        (folder / "sitecustomize.py").write_text(_SLOW_DISK.format(module=module, seconds=PATIENCE_S))
        return folder

    def run(self, *words: str, inventory: Path | None = None) -> Ended:
        """Run a command to its end."""
        return self.start(*words, inventory=inventory).end()

    def other_tokens(self) -> str:
        """A number of speculative tokens that is not in service: what makes a deploy have something to do."""
        in_service = self.tokens_of(self.seen().current)
        return str(next(number for number in self._tokens if number != in_service))

    def converge(self, tokens: str) -> Ended:
        """Deploy with nothing in the way; it must come to rest with that many tokens in service."""
        ended = self.run("deploy", "--tokens", tokens)
        assert ended.code == 0, ended.said
        assert "Traceback" not in ended.said
        seen = self.seen()
        assert seen.settled, seen
        assert self.serves(), ended.said
        assert self.tokens_of(seen.current) == int(tokens), ended.said
        return ended

    def pends(self, *, previous: str | None) -> Seen:
        """What is current must be unconfirmed, its way back armed, and `previous` still promoted."""
        seen = self.seen()
        assert seen.pending is not None, seen
        assert seen.pending["release"] == seen.current
        assert (seen.pending["previous"] or None, seen.promoted) == (previous, previous)
        assert seen.pending["nonce"] in seen.timers
        return seen

    def decided(self, promoted: str | None) -> Seen:
        """Wait for the end of what the host was told last; then it serves what is promoted, or `promoted` is its way back.

        A command on the host goes on when the one who sent it dies.
        """

        def rests() -> bool:
            seen = self.seen()
            if seen.pending is None:
                return seen.current == seen.promoted
            return seen.pending["nonce"] in seen.timers and seen.pending["release"] == seen.current

        eventually(rests, "the host rests")
        seen = self.seen()
        if seen.pending is not None:
            self.pends(previous=promoted)
        for release in {seen.current, seen.promoted} - {None}:
            assert release in seen.releases
        return seen

    def goes_back_to(self, before: Seen) -> None:
        """Wait until the host has gone back, without anybody's help, from an activation to what was promoted `before`."""
        times = before.events.count("reverted")
        eventually(lambda: _events(self.base() / "audit.jsonl").count("reverted") > times, "the host goes back")
        eventually(self.serves, "the server is back")
        seen = self.seen()
        assert (seen.current, seen.promoted, seen.pending) == (before.promoted, before.promoted, None)
        assert len(self.engines()) == 1
        assert seen.timers == ()

    @contextlib.contextmanager
    def held_build(self) -> Iterator[None]:
        """No build gets past its first step while the context lasts: somebody else seems to build."""
        with (self.base() / "venvs/.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def held_state(self) -> Iterator[None]:
        """Every change of the host's state waits while the context lasts: somebody else seems to make one."""
        with (self.base() / ".state").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def another_build(self) -> Change:
        """A change to a host that makes it need a venv that it does not have, of the same engine."""
        return {"engine": {"torch_backend": f"cu{next(self._builds)}"}}

    def builds(self) -> list[int]:
        """Process ids of the build jobs that run on the host."""
        scripts = (process for process in self.lab.processes(CTID) if process.argv[-1:] != ())
        return [process.pid for process in scripts if re.fullmatch(r"\./build-.*\.sh", process.argv[-1])]

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

    def tokens_of(self, release: str | None) -> int:
        """Speculative tokens of a release."""
        return int(self._manifest(release)["drafter"]["tokens"])

    def commit_of(self, release: str | None) -> str:
        """The engine's commit of a release."""
        return str(self._manifest(release)["engine"]["commit"])

    def venv_of(self, release: str | None) -> Path:
        """Where a release's engine is."""
        return self.base() / "venvs" / str(self._manifest(release)["engine"]["venv"])

    def gate_of_pending(self) -> Path:
        """Where the result of the pending release's gate will be."""
        pending = _pending(self.base() / "pending") or {"release": "none"}
        return self.base() / "releases" / pending["release"] / "gate.json"

    def _manifest(self, release: str | None) -> dict[str, Any]:
        assert release is not None
        manifest: dict[str, Any] = json.loads((self.base() / "releases" / release / "manifest.json").read_text())
        return manifest

    def runs(self, words: str) -> bool:
        """Whether a process with these words in its command line runs in the container."""
        return any(words in " ".join(process.argv) for process in self.lab.processes(CTID))

    def control(self, verb: str) -> None:
        """What an operator would do on the host itself: control.sh VERB."""
        inside = container.environment(self.lab.layout, self.lab.layout.container(CTID), CTID)
        subprocess.run([self.base() / "control.sh", verb], env=inside, check=True, timeout=PATIENCE_S)

    def engines(self, ctid: int = CTID) -> list[int]:
        """Process ids of the engines that run in the container."""
        return [process.pid for process in self.lab.processes(ctid) if _is_engine(process.argv)]

    def serves(self, ctid: int = CTID) -> bool:
        """Whether the engine lists its model, asked without specrail."""
        return self.models(ctid) != ()

    def models(self, ctid: int = CTID) -> tuple[str, ...]:
        """The models that the server lists; none when it does not answer, or there is no container."""
        box = self.lab.status()["containers"].get(f"ct{ctid}")
        if box is None:
            return ()
        key = (self.lab.layout.secrets / "api-key").read_text().strip()
        line = http.client.HTTPConnection("127.0.0.1", box["server_port"], timeout=5)
        try:
            line.request("GET", "/v1/models", headers={"Authorization": f"Bearer {key}"})
            return tuple(model["id"] for model in json.load(line.getresponse())["data"])
        except (OSError, http.client.HTTPException, ValueError):
            return ()
        finally:
            line.close()

    def log(self, ctid: int = CTID) -> str:
        """The engine's log."""
        path = self.lab.layout.container(ctid) / "var/log/specrail/vllm/serve.log"
        return path.read_text(errors="replace") if path.exists() else ""


def eventually(condition: Callable[[], bool], what: str = "", timeout_s: float = PATIENCE_S) -> None:
    """Wait until something is so; the bound only ends a test that has failed anyway."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"did not come to be: {what}"
        time.sleep(0.1)


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
