"""What lies on a host and what runs there, read and held without specrail's help."""

import contextlib
import fcntl
import http.client
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.e2e.survival.command import PATIENCE_S
from tests.lab import container
from tests.lab.ground import Lab


@dataclass(frozen=True)
class Seen:
    """pending and lock: their files' content, None where there is none; timers: nonces of the revert timers that run."""

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


class OnHost:
    """One container of a lab, which need not be there yet."""

    def __init__(self, lab: Lab, ctid: int) -> None:
        self.lab = lab
        self.ctid = ctid

    @property
    def base(self) -> Path:
        """The service's folder."""
        return self.lab.layout.container(self.ctid) / "opt/specrail/vllm"

    def seen(self) -> Seen:
        """Look at everything."""
        releases = self.base / "releases"
        found = releases.iterdir() if releases.is_dir() else ()
        timers = (re.search(r"control\.sh timer (\S+)", words) for words in self._command_lines())
        return Seen(
            current=_link(self.base / "current"),
            promoted=_link(self.base / "promoted"),
            pending=self.pending(),
            lock=_lock(self.base / "lock"),
            timers=tuple(timer[1] for timer in timers if timer),
            releases=tuple(sorted(path.name for path in found if not path.name.startswith("."))),
            events=self.events(),
        )

    def pending(self) -> dict[str, str] | None:
        """The activation that nobody has confirmed yet."""
        with contextlib.suppress(FileNotFoundError):
            return dict(line.split("=", 1) for line in (self.base / "pending").read_text().splitlines())
        return None

    def events(self) -> tuple[str, ...]:
        """What the audit tells, in its order."""
        with contextlib.suppress(FileNotFoundError):
            lines = (self.base / "audit.jsonl").read_text().splitlines()
            return tuple(json.loads(line)["event"] for line in lines)
        return ()

    def gate_of_pending(self) -> Path:
        """Where the result of the pending release's gate will be."""
        return self.base / "releases" / (self.pending() or {"release": "none"})["release"] / "gate.json"

    def tokens_of(self, release: str | None) -> int:
        """Speculative tokens of a release."""
        return int(self._manifest(release)["drafter"]["tokens"])

    def commit_of(self, release: str | None) -> str:
        """The engine's commit of a release."""
        return str(self._manifest(release)["engine"]["commit"])

    def venv_of(self, release: str | None) -> Path:
        """Where a release's engine is."""
        return self.base / "venvs" / str(self._manifest(release)["engine"]["venv"])

    def _manifest(self, release: str | None) -> dict[str, Any]:
        assert release is not None
        manifest: dict[str, Any] = json.loads((self.base / "releases" / release / "manifest.json").read_text())
        return manifest

    # --------------------------------------------------------------------------------- what runs

    def runs(self, words: str) -> bool:
        """Whether a process has these words in its command line."""
        return any(words in line for line in self._command_lines())

    def engines(self) -> list[int]:
        """Process ids of the engines."""
        return self._pids(r"\S*/python\S* \S+/vllm serve ")

    def builds(self) -> list[int]:
        """Process ids of the build jobs."""
        return self._pids(r"\S+ \./build-\S+\.sh$")

    def _pids(self, pattern: str) -> list[int]:
        found = self.lab.processes(self.ctid)
        return [process.pid for process in found if re.match(pattern, " ".join(process.argv))]

    def _command_lines(self) -> Iterator[str]:
        return (" ".join(process.argv) for process in self.lab.processes(self.ctid))

    @property
    def port(self) -> int:
        """Where the engine listens."""
        return int(self.lab.status()["containers"][f"ct{self.ctid}"]["server_port"])

    @property
    def api_key(self) -> str:
        """What the engine wants to be shown."""
        return (self.lab.layout.secrets / "api-key").read_text().strip()

    def models(self) -> tuple[str, ...]:
        """The models that the server lists; none when it does not answer, or there is no container."""
        if f"ct{self.ctid}" not in self.lab.status()["containers"]:
            return ()
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            line.request("GET", "/v1/models", headers={"Authorization": f"Bearer {self.api_key}"})
            return tuple(model["id"] for model in json.load(line.getresponse())["data"])
        except (OSError, http.client.HTTPException, ValueError):
            return ()
        finally:
            line.close()

    def serves(self) -> bool:
        """Whether a server answers, whichever it is."""
        return self.models() != ()

    # ---------------------------------------------------------------------- what an operator can do

    @property
    def environment(self) -> dict[str, str]:
        """What a login to the container gives."""
        return container.environment(self.lab.layout, self.lab.layout.container(self.ctid), self.ctid)

    def control(self, verb: str) -> None:
        """control.sh VERB, typed on the host itself."""
        subprocess.run([self.base / "control.sh", verb], env=self.environment, check=True, timeout=PATIENCE_S)

    @contextlib.contextmanager
    def held_build(self) -> Iterator[None]:
        """No build gets past its first step while the context lasts: somebody else seems to build."""
        with _flock(self.base / "venvs/.lock"):
            yield

    @contextlib.contextmanager
    def held_state(self) -> Iterator[None]:
        """Every change of the host's state waits while the context lasts: somebody else seems to make one."""
        with _flock(self.base / ".state"):
            yield

    @contextlib.contextmanager
    def held_lock(self) -> Iterator[None]:
        """Nobody gets the host's lock while the context lasts, and everybody waits for it."""
        with _flock(self.base / ".lock-guard"):
            yield


@contextlib.contextmanager
def _flock(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _link(path: Path) -> str | None:
    return path.readlink().name if path.is_symlink() else None


def _lock(folder: Path) -> dict[str, Any] | None:
    if not folder.is_dir():
        return None
    with contextlib.suppress(FileNotFoundError, ValueError):
        details: dict[str, Any] = json.loads((folder / "details.json").read_text())
        return details
    return {}
