"""Bringing one number of speculative tokens into service here, as a deploy does once the engine is built."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console

from inventory.errors import UsageError
from inventory.models import Drafter, Engine, Gate, Host, Paths, Server, Ssh, Target
from playbooks.bringup import Arrival, bring_up
from playbooks.desired import manifest_of, staging_of, wanted
from playbooks.survey import gpu_of, release_facts
from roles.drafter import facts as drafter_facts
from roles.drafter.assess import assess, wanted_config
from roles.drafter.check import Report
from roles.drafter.config import sha256
from roles.drafter.config import text as config_text
from roles.drafter.engines import traits
from roles.drafter.facts import DrafterFacts
from roles.drafter.speculative import speculative_config
from roles.engine.resolve import Resolution
from roles.engine.source import parse
from roles.release import control, stage
from tests.gpu.here import NOBODY, Here

_MODEL = "measured"
_VENV = "installed"


@dataclass(frozen=True)
class Wish:
    """What is served: folders on this machine. venv has bin/vllm; gate_floor is the least acceptance length."""

    venv: Path
    model: Path
    drafter: Path | None
    method: str = "dflash"
    port: int = 8123
    gate_prompts: int = 12
    gate_floor: float = 1.05
    start_timeout_s: float = 420
    max_model_len: int | None = None
    gpu_memory_utilization: float | None = None
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()


class Machine:
    """This machine with one service in `folder`. Leaving it stops the server."""

    def __init__(self, wish: Wish, folder: Path, version: str | None, console: Console) -> None:
        self._wish = wish
        self._folder = folder
        self._version = version
        self._console = console
        self.site = Here(self._host(0), folder, console)
        self.layout = self.site.layout
        venvs = Path(self.layout.venvs)
        venvs.mkdir(parents=True, exist_ok=True)
        link = venvs / _VENV
        link.unlink(missing_ok=True)
        link.symlink_to(wish.venv)
        control.install(
            self.site.shell, self.layout, control.files(self.layout, "process", self.site.host.server.stop_timeout_s)
        )
        self._folders = self._look()

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_: object) -> None:
        self.site.control.stop()

    @property
    def largest(self) -> int:
        """The most tokens that the drafter's block holds, else 8."""
        block = self._drafter_config().get("block_size")
        return block - 1 if isinstance(block, int) and block > 1 else 8

    def report(self, k: int) -> Report | None:
        """What the check of the drafter's config says."""
        host = self._host(k)
        if host.drafter is None:
            return None
        return assess(host.drafter, self._folders, traits(self._version, None), host.server)

    def serve(self, k: int) -> Arrival:
        """Stage a release with k speculative tokens (0: none), switch to it, gate it, keep it."""
        self.site = site = Here(self._host(k), self._folder, self._console)
        host, drafter = site.host, site.host.drafter
        config = wanted_config(drafter, self._folders) if drafter else None
        want = wanted(
            host,
            self.layout,
            resolution=Resolution(parse(host.engine.source), version=self._version),
            venv=f"{self.layout.venvs}/{_VENV}",
            version=self._version,
            drafter_config=config_text(config) if config is not None else None,
            drafter_sha256=sha256(config) if config is not None else None,
            speculative=speculative_config(drafter, "RELEASE/drafter") if drafter else None,
        )
        manifest = manifest_of(want, host, datetime.now(UTC), ())
        stage.stage(site.shell, self.layout, staging_of(manifest, want, host, self.layout, {}))
        before = release_facts(site)
        return bring_up(site, manifest, before=before, baseline=None, gpu=gpu_of(site))

    def _look(self) -> DrafterFacts:
        drafter = str(self._wish.drafter) if self._wish.drafter else None
        return drafter_facts.parse(
            self.site.shell.run(drafter_facts.question(str(self._wish.model), drafter), timeout_s=60).stdout
        )

    def _drafter_config(self) -> dict[str, object]:
        return dict(self._folders.drafter_config or {})

    def _host(self, k: int) -> Host:
        try:
            return self._checked(k)
        except ValidationError as error:
            fault = error.errors()[0]
            key = ".".join(map(str, fault["loc"]))
            raise UsageError(f"{key}: {fault['msg']}" if key else fault["msg"].removeprefix("Value error, ")) from None

    def _checked(self, k: int) -> Host:
        wish = self._wish
        drafter = None
        if k and (wish.drafter is not None or wish.method == "ngram"):
            path = str(wish.drafter) if wish.drafter else None
            drafter = Drafter.model_validate({"method": wish.method, "path": path, "tokens": k})
        return Host(
            node="none",
            container=NOBODY,
            ssh=Ssh(host="127.0.0.1"),
            paths=Paths(root=str(self._folder), logs=str(self._folder / "logs")),
            engine=Engine(source=f"path:{wish.venv}"),
            model=Target(path=str(wish.model), served_name=_MODEL),
            drafter=drafter,
            server=Server(
                port=wish.port,
                reach="direct",
                supervisor="process",
                start_timeout_s=wish.start_timeout_s,
                stop_timeout_s=30,
                max_model_len=wish.max_model_len,
                gpu_memory_utilization=wish.gpu_memory_utilization,
                args=wish.args,
                env=dict(wish.env),
            ),
            gate=Gate(prompts=wish.gate_prompts, min_acceptance_length=wish.gate_floor, inconclusive="keep"),
        )
