"""What a deploy does inside the container: every check on what was read there, and the release that follows from it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from inventory.errors import EngineError, PreflightError
from playbooks.desired import Wanted, environment_sha256, wanted
from playbooks.site import Site
from playbooks.survey import Survey
from roles.drafter.assess import assess, wanted_config
from roles.drafter.check import Report
from roles.drafter.config import diff, sha256
from roles.drafter.config import text as config_text
from roles.drafter.engines import traits
from roles.drafter.finding import refuse as refuse_drafter
from roles.drafter.speculative import speculative_config
from roles.engine import build as engine_build
from roles.engine.plan import EnginePlan
from roles.engine.plan import plan as plan_engine
from roles.engine.provenance import Provenance
from roles.engine.push import local_uv
from roles.engine.resolve import Resolution, resolve
from roles.gpu.check import check as check_gpus
from roles.gpu.finding import refuse as refuse_gpus
from roles.release import control
from roles.release.facts import Release
from roles.release.layout import Supervisor
from roles.release.manifest import Manifest
from roles.step import Step, nothing

_RELEASE = "RELEASE"

_RELEASE_BYTES = 268_435_456
"""Free space that a release needs with its compile cache and what the engine logs while it is judged."""


class Flags(Protocol):
    """What a caller may have decided already."""

    @property
    def allow_drafter_errors(self) -> bool:
        """Deploy in spite of errors in the drafter's config."""

    @property
    def update(self) -> bool:
        """Follow a source that has moved on."""


@dataclass(frozen=True)
class Inside:
    """The plan for everything inside the container.

    forced: rules of the drafter check that were overruled, for the manifest
    """

    resolution: Resolution
    engine: EnginePlan
    build_script: str
    wanted: Wanted
    files: control.Files
    install_control: bool
    release_step: Step
    steps: tuple[Step, ...]
    notes: tuple[str, ...]
    forced: tuple[str, ...]


def plan_inside(site: Site, seen: Survey, flags: Flags) -> Inside:
    """Check and decide. Raises PreflightError, DrafterRefused or EngineError with all that is in the way of each."""
    host, layout = site.host, site.layout
    running = seen.release.release(seen.release.current)
    manifest = running.manifest if running else None
    gpus = check_gpus(
        host.container.gpus,
        seen.gpu,
        None,
        host.server.tensor_parallel,
        memory_utilization=host.server.gpu_memory_utilization,
        serving=seen.release.server_running,
    )
    refuse_gpus(gpus)
    _port_is_free(site, seen, manifest)
    resolution = resolve(host.engine, _built_before(seen, manifest), flags.update, path_commit=seen.engine.path_commit)
    try:
        uv = local_uv()
    except FileNotFoundError as error:
        raise EngineError("this checkout's .venv has no uv", where=["engine"], tries=["./run test"]) from error
    engine = plan_engine(host.engine, resolution, seen.engine, layout.base, uv)
    built = seen.engine.venvs.get(engine.venv.rsplit("/", 1)[-1])
    report = _judge(site, seen, built)
    if not flags.allow_drafter_errors:
        refuse_drafter(report.findings if report else ())
    forced = tuple(sorted({f.rule for f in report.findings if f.severity == "error"})) if report else ()
    drafter_config = wanted_config(host.drafter, seen.drafter) if host.drafter else None
    want = wanted(
        host,
        layout,
        resolution=resolution,
        venv=engine.venv,
        version=built.version if built else None,
        drafter_config=config_text(drafter_config) if drafter_config is not None else None,
        drafter_sha256=sha256(drafter_config) if drafter_config is not None else None,
        speculative=speculative_config(host.drafter, f"{_RELEASE}/drafter" if host.drafter.path else None)
        if host.drafter
        else None,
    )
    files = control.files(layout, _supervisor(site, seen), host.server.stop_timeout_s)
    there = (seen.release.control_sha, seen.release.unit_sha if files.unit else None)
    install = there != (files.control_sha, files.unit_sha)
    release_step = _release_step(site, seen, want, running)
    steps = [*engine.steps]
    if install:
        steps.append(Step("server", "render", f"write control.sh{' and the systemd unit' if files.unit else ''}"))
    steps.append(release_step)
    if any(step.changes for step in steps):
        _disk_has_room(site, seen)
    return Inside(
        resolution=resolution,
        engine=engine,
        build_script=_build_script(site, resolution, engine) if engine.build else "",
        wanted=want,
        files=files,
        install_control=install,
        release_step=release_step,
        steps=tuple(steps),
        notes=(
            *resolution.notes,
            *(f"gpu: {finding.message}" for finding in gpus),
            *(_worth_a_note(report, forced) if report else ()),
        ),
        forced=forced,
    )


def _built_before(seen: Survey, manifest: Manifest | None) -> Provenance | None:
    return seen.engine.venvs.get(manifest.venv) if manifest and manifest.venv else None


def _build_script(site: Site, resolution: Resolution, engine: EnginePlan) -> str:
    return engine_build.script(site.host.engine, resolution, engine, site.layout.base)


def _judge(site: Site, seen: Survey, built: Provenance | None) -> Report | None:
    host = site.host
    if host.drafter is None:
        return None
    kind, _, number = host.engine.source.partition(":")
    version = built.version if built else number if kind == "release" else None
    engine = traits(version, int(number) if kind == "pr" else None)
    gpus = tuple(gpu.name for gpu in seen.gpu.gpus)
    return assess(host.drafter, seen.drafter, engine, host.server, gpus=gpus or None)


def _worth_a_note(report: Report, forced: tuple[str, ...]) -> Iterator[str]:
    for finding in report.findings:
        if finding.severity == "warning" or finding.rule in forced:
            overruled = " (overruled by --allow-drafter-errors)" if finding.severity == "error" else ""
            yield f"drafter: {finding.field}: {finding.message}{overruled}"


def _supervisor(site: Site, seen: Survey) -> Supervisor:
    wish = site.host.server.supervisor
    if wish == "auto":
        return "systemd" if seen.release.systemd else "process"
    if wish == "systemd" and not seen.release.systemd:
        raise PreflightError(
            "server.supervisor is systemd, but the container does not run it",
            where=["server"],
            tries=["server.supervisor: auto"],
        )
    return wish


def _port_is_free(site: Site, seen: Survey, manifest: Manifest | None) -> None:
    port = site.host.server.port
    ours = seen.release.server_running and manifest is not None and manifest.port == port
    if seen.release.port_taken and not ours:
        raise PreflightError(
            f"port {port} is taken by something that is not this service",
            where=["server"],
            why=["Two engines can even share a port without an error; each would get half of the requests."],
            tries=["ss -ltnp   (on the host) shows who has it", "server.port: another one"],
        )


def _disk_has_room(site: Site, seen: Survey) -> None:
    free, base, ctid = seen.release.free_bytes, site.layout.base, site.host.container.ctid
    if free is not None and free < _RELEASE_BYTES:
        raise PreflightError(
            f"the disk is full: {free / 1e6:.0f} MB are free below {base}, a release needs {_RELEASE_BYTES / 1e6:.0f}",
            where=["release"],
            why=["What it needs: its files, the engine's compile cache, and the log of its trial."],
            tries=[
                f"du -xsh {base}/* {site.layout.logs}   (on the host) shows what takes the room",
                f"pct resize {ctid} rootfs +20G   (on the node), and container.rootfs_gib to match",
            ],
        )


def _release_step(site: Site, seen: Survey, want: Wanted, running: Release | None) -> Step:
    release = seen.release
    manifest = running.manifest if running else None
    settled = release.pending is None and running is not None and release.current == release.promoted
    secrets_same = release.env_sha == environment_sha256(want, site.server_secrets)
    if settled and manifest is not None and manifest.digest == want.digest and secrets_same and release.control_sha:
        return nothing("release", f"release {release.current} is as wanted, promoted and passed its gate")
    what = f"{site.host.model.served_name}, {_drafter_words(site)}"
    never = "what is current was never promoted"
    if release.pending:
        never += f"; the host {release.pending.in_words(release.now)}"
    return Step(
        role="release",
        action="activate",
        summary=f"write a release of {what}; switch to it; keep it if it passes its gate",
        diff=tuple(_differences(manifest, want, secrets_same=secrets_same)) if manifest else (),
        note=None if settled or release.current is None else never,
    )


def _drafter_words(site: Site) -> str:
    drafter = site.host.drafter
    return f"{drafter.method} with {drafter.tokens} tokens" if drafter else "no speculation"


def _differences(
    manifest: Manifest, want: Wanted, *, secrets_same: bool
) -> Iterator[tuple[str, str | None, str | None]]:
    old: Mapping[str, object] = {
        "engine": {**manifest.engine, "version": None},
        "drafter": dict(manifest.drafter or {}),
        "environment": _told(manifest.environment),
    }
    new: Mapping[str, object] = {
        "engine": {**want.engine, "version": None},
        "drafter": dict(want.drafter or {}),
        "environment": _told(want.environment),
    }
    for what, before, after in diff(old, new):
        yield (what, _short(before), _short(after)) if what.endswith("sha256") else (what, before, after)
    gone = [word for word in manifest.argv if word not in want.argv]
    come = [word for word in want.argv if word not in manifest.argv]
    if gone or come:
        yield ("serve", " ".join(gone) or None, " ".join(come) or None)
    if not secrets_same and manifest.environment == want.environment:
        yield ("server.env", "secrets as they were", "secrets as they are now")


def _short(digest: str | None) -> str | None:
    return digest and digest.strip('"')[:12]


def _told(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what follows from the rest: the compile cache is named by the venv and the drafter's config."""
    return {name: value for name, value in environment.items() if name != "VLLM_CACHE_ROOT"}
