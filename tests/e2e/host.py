"""What lies on the lab's node and host and what runs there, read without specrail."""

import hashlib
import http.client
import json
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab import control
from tests.lab.ground import Lab

CTID = 129
MODEL = "Qwen3.6-27B"
_SERVER = "vllm serve"
_ENGINE_LOG = "serve.log"
_HASHED_BYTES = 1_000_000


@dataclass(frozen=True)
class Seen:
    """All that a command may have changed, but the engine's own log. Two that are equal: nothing was changed.

    config:  the container's, as `pct config` prints it; empty without a container
    files:   mode, size or link, content of all below the node's and the container's folder, by path
    venvs:   that were built to their end
    servers: process ids of the engine
    """

    current: str | None
    promoted: str | None
    releases: tuple[str, ...]
    venvs: tuple[str, ...]
    config: str
    servers: tuple[int, ...]
    audit: bytes
    files: Mapping[str, tuple[object, ...]]

    @property
    def settled(self) -> bool:
        """Whether what is current is promoted, its server runs, and nobody is at work."""
        at_work = any(path.startswith("opt/specrail/vllm/lock") for path in self.files)
        return self.current is not None and self.current == self.promoted and bool(self.servers) and not at_work


def look(lab: Lab) -> Seen:
    """Look at everything."""
    base = base_of(lab)
    found = control.ask(lab.layout.control, {"do": "pct", "argv": ["config", str(CTID)]})
    return Seen(
        current=_link(base / "current"),
        promoted=_link(base / "promoted"),
        releases=_names(base / "releases"),
        venvs=tuple(sorted(file.parent.name for file in base.glob("venvs/*/provenance.json"))),
        config=found["stdout"],
        servers=tuple(process.pid for process in lab.processes(CTID) if _SERVER in " ".join(process.argv)),
        audit=(base / "audit.jsonl").read_bytes() if (base / "audit.jsonl").exists() else b"",
        files=dict(_tree(lab.layout.container(CTID))) | {f"node:{k}": v for k, v in _tree(lab.layout.node)},
    )


def base_of(lab: Lab) -> Path:
    """Where the service's files are."""
    return lab.layout.container(CTID) / "opt/specrail/vllm"


def serves(lab: Lab, key: str | None = None) -> bool:
    """Whether a real completion comes back."""
    port = lab.status()["containers"][f"ct{CTID}"]["server_port"]
    key = key or (lab.layout.secrets / "api-key").read_text()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        line.request(
            "POST",
            "/v1/completions",
            json.dumps({"model": MODEL, "prompt": "Say something.", "max_tokens": 8, "temperature": 0}),
            {"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
        )
        answer = line.getresponse()
        return answer.status == 200 and bool(json.loads(answer.read())["choices"][0]["text"])
    except OSError:
        return False
    finally:
        line.close()


@contextmanager
def broken(lab: Lab, fault: str, **arguments: Any) -> Iterator[None]:
    """One of the lab's faults, for as long as the block lasts."""
    lab.fault(fault, **arguments)
    try:
        yield
    finally:
        lab.fault(fault, on=False, **arguments)


def _tree(root: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    for path in sorted(root.rglob("*")):
        if path.name == _ENGINE_LOG or "__pycache__" in path.parts:  # the engine's own doing
            continue
        yield str(path.relative_to(root)), _of(path)


def _of(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    mode = stat.filemode(status.st_mode)
    if path.is_symlink():
        return mode, str(path.readlink())
    if not path.is_file():
        return (mode,)
    if status.st_size > _HASHED_BYTES:
        return mode, status.st_size, status.st_mtime_ns
    return mode, status.st_size, hashlib.sha256(path.read_bytes()).hexdigest()


def _link(path: Path) -> str | None:
    return path.readlink().name if path.is_symlink() else None


def _names(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.name for path in folder.iterdir())) if folder.is_dir() else ()
