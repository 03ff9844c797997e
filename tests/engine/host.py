"""The practice ground's ct129 with a real engine, and what tests ask of it without specrail."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests

from roles.acceptance.counters import Counters, read
from tests.e2e.host import base_of
from tests.e2e.person import HOST, Person, Said
from tests.lab import tiny
from tests.lab.ground import Lab
from tests.lab.hosts import Changes
from tests.lab.layout import MODELS
from tests.lab.ledger import LEDGER
from tests.lab.real import wanted

CTID = 129
BARE = "tiny-dflash-bare"
"""The drafter's weights without a config.json."""

_PATIENCE_S = 1500


class EngineHost:
    """A lab whose engine, model and drafter are real, and the person who works on it."""

    def __init__(self, lab: Lab, folder: Path, version: str) -> None:
        self.lab = lab
        self.version = version
        models = lab.layout.node / MODELS.lstrip("/")
        tiny.put(models)
        shutil.copytree(models / tiny.DRAFTER, models / BARE)
        (models / BARE / "config.json").unlink()
        self.models = lab.layout.container(CTID) / "mnt/models"
        self.person = Person(lab, folder, wanted.host(self.models, version), patience_s=_PATIENCE_S)

    def types(self, line: str, *, inventory: Path | None = None) -> Said:
        """Type `invoke LINE --host ct129`; what it takes is noted."""
        with LEDGER.part(f"invoke {line}"):
            return self.person.types(f"{line} --host {HOST}", inventory=inventory)

    def inventory(self, name: str, changes: Changes) -> Path:
        """An inventory of its own with these values."""
        return self.person.writes(name, {**wanted.host(self.models, self.version), **changes})

    def drafter_config(self, name: str, config: Mapping[str, object]) -> Path:
        """A file for --drafter-config."""
        file = self.person.folder / f"{name}.json"
        file.write_text(json.dumps(config))
        return file

    # -------------------------------------------------------------------------------------- what lies there

    @property
    def venv(self) -> Path:
        """The one engine's venv."""
        (venv,) = (base_of(self.lab) / "venvs").glob("vllm-*")
        return venv

    @property
    def current(self) -> str | None:
        """The release that serves."""
        link = base_of(self.lab) / "current"
        return link.readlink().name if link.is_symlink() else None

    @property
    def log(self) -> Path:
        """The engine's log."""
        return self.lab.layout.container(CTID) / "var/log/specrail/vllm/serve.log"

    def gate(self, release: str) -> dict[str, Any]:
        """What a release's gate said."""
        found: dict[str, Any] = json.loads((base_of(self.lab) / "releases" / release / "gate.json").read_text())
        return dict(found["verdict"])

    # ------------------------------------------------------------------------------------- the server itself

    @property
    def url(self) -> str:
        """Where it listens."""
        port = self.lab.status()["containers"][f"ct{CTID}"]["server_port"]
        return f"http://127.0.0.1:{port}"

    @property
    def key(self) -> str:
        """What it wants to see."""
        return (self.lab.layout.secrets / "api-key").read_text()

    def counters(self) -> Counters:
        """Its counters now."""
        return read(requests.get(f"{self.url}/metrics", timeout=60).text)

    def ask(self, text: str, *, temperature: float, tokens: int) -> int:
        """One chat completion; returns how many tokens came."""
        body = {
            "model": tiny.TARGET,
            "messages": [{"role": "user", "content": text}],
            "max_tokens": tokens,
            "temperature": temperature,
            "ignore_eos": True,
        }
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = requests.post(f"{self.url}/v1/chat/completions", json=body, headers=headers, timeout=300)
        answer.raise_for_status()
        return int(answer.json()["usage"]["completion_tokens"])

    def logged_since(self, offset: int, pattern: str, *, patience_s: float = 30) -> bool:
        """Wait until the log has a text behind an offset."""
        deadline = time.monotonic() + patience_s
        while pattern not in self.log.read_text(errors="replace")[offset:]:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)
        return True

    def runs(self, *words: str, patience_s: float = 600) -> subprocess.CompletedProcess[str]:
        """Run a program of the engine's venv beside the server, as the launch script would."""
        environment = {
            "PATH": f"{self.venv}/bin:/usr/bin:/bin",
            "HOME": str(self.person.home),
            "LD_PRELOAD": f"{self.venv}/lib/libiomp5.so",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "HF_HUB_OFFLINE": "1",
            "OPENAI_API_KEY": self.key,
        }
        program = self.venv / "bin" / words[0]
        with LEDGER.part(" ".join(words[:2])):
            return subprocess.run(
                [os.fspath(program), *words[1:]],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=patience_s,
                check=False,
            )
