"""What has to happen so that a host has the engine: nothing, or a build and what it needs first."""

from collections.abc import Iterator
from dataclasses import dataclass

from inventory.errors import PreflightError
from inventory.models import Engine
from roles.engine.facts import EngineFacts
from roles.engine.kinds import KINDS
from roles.engine.naming import venv_name
from roles.engine.push import LocalUv, on_host
from roles.engine.resolve import Resolution
from roles.step import Step

OFFLINE_BYTES = 300_000_000
"""Free space for a build without any index: a pure Python package and uv itself."""

_PACKAGES = {"git": "git", "cc": "build-essential"}


@dataclass(frozen=True)
class EnginePlan:
    """Steps for people, and what the caller needs to carry them out.

    venv:     absolute path of the build on the host
    build:    whether it has to be built; nothing else below matters when not
    uv:       path of the uv on the host that builds
    push:     the controller's uv, when it has to be sent to `uv` first
    packages: of the distribution, that the build script installs first
    """

    steps: tuple[Step, ...]
    venv: str
    build: bool
    uv: str
    push: LocalUv | None = None
    packages: tuple[str, ...] = ()


def plan(engine: Engine, resolution: Resolution, have: EngineFacts, base: str, local: LocalUv) -> EnginePlan:
    """Decide. base is the service's folder on the host. Raises PreflightError with all that is in the way."""
    name = venv_name(engine, resolution)
    venv = f"{base}/venvs/{name}"
    title = f"engine {engine.kind} {resolution.label}"
    note = "; ".join(resolution.notes) or None
    there = on_host(have, local)
    if name in have.venvs:
        step = Step(role="engine", action="nothing", summary=f"{title} is built", note=note)
        return EnginePlan(steps=(step,), venv=venv, build=False, uv=there or local.remote_path(base))
    obstacles = list(_obstacles(engine, resolution, have, base, push=local if there is None else None))
    if obstacles:
        raise _in_the_way(obstacles)
    packages = _packages(engine, resolution, have)
    steps = []
    if there is None:
        sends = f"send uv {local.version} to the host ({local.size_bytes / 1e6:.0f} MB)"
        steps.append(Step(role="engine", action="create", summary=sends))
    if packages:
        steps.append(Step(role="engine", action="update", summary=f"install {', '.join(packages)} with apt-get"))
    steps.append(
        Step(
            role="engine",
            action="build",
            summary=f"build {title} from {resolution.source.title}",
            diff=(("venv", None, name), ("free space needed", None, _gb(needed_bytes(engine)))),
            note=note,
        )
    )
    return EnginePlan(
        steps=tuple(steps),
        venv=venv,
        build=True,
        uv=there or local.remote_path(base),
        push=local if there is None else None,
        packages=packages,
    )


def needed_bytes(engine: Engine) -> int:
    """Free space that a build of `engine` needs."""
    kind = KINDS[engine.kind]
    if engine.index_url == "none" and not engine.find_links:
        return OFFLINE_BYTES
    if engine.build == "source":
        return kind.compile_bytes
    return kind.cpu_bytes if engine.torch_backend == "cpu" else kind.release_bytes


@dataclass(frozen=True)
class _Obstacle:
    what: str
    why: tuple[str, ...] = ()
    tries: tuple[str, ...] = ()


def _obstacles(
    engine: Engine, resolution: Resolution, have: EngineFacts, base: str, push: LocalUv | None
) -> Iterator[_Obstacle]:
    offline = engine.index_url == "none"
    needed = needed_bytes(engine)
    if have.free_bytes is not None and have.free_bytes < needed:
        yield _Obstacle(
            f"{_gb(have.free_bytes)} are free below {base}, the build needs {_gb(needed)}",
            tries=(
                f"du -xsh {base}/venvs/* {base}/cache   (builds of releases that are gone can be removed)",
                "container.rootfs_gib: grow it in the inventory, then deploy",
            ),
        )
    if have.libc == "musl" and not offline:
        yield _Obstacle(
            "the host's C library is musl",
            why=("torch and CUDA have no builds for it.",),
            tries=("container.template: a Debian or Ubuntu template",),
        )
    if offline and resolution.source.kind == "release" and not engine.find_links:
        yield _Obstacle(
            f"{resolution.source} needs a package index, and engine.index_url is none",
            tries=(
                "engine.source: wheel:/path/on/the/host/name.whl",
                "engine.find_links: [/a/folder/of/wheels]",
                "engine.index_url: (leave it out)",
            ),
        )
    if resolution.source.value.startswith("/") and not have.path_exists:
        yield _Obstacle(f"there is no {resolution.source.value} on the host", tries=("check engine.source",))
    if push and not push.runs_on(have.arch):
        yield _Obstacle(
            f"the host has no uv, and this machine's ({push.system} {push.machine}) does not run on {have.arch}",
            tries=("on the host: curl -LsSf https://astral.sh/uv/install.sh | sh",),
        )
    if have.python is None and (offline or engine.python is None):
        wanted = f"python{engine.python}" if engine.python else "python3"
        yield _Obstacle(
            f"the host has no {wanted}",
            tries=("on the host: apt-get install -y python3", *(() if offline else ("engine.python: '3.12'",))),
        )
    if "flock" not in have.tools:
        yield _Obstacle("the host has no flock", tries=("on the host: apt-get install -y util-linux",))
    missing = [_PACKAGES[tool] for tool in _needed_tools(engine, resolution) if tool not in have.tools]
    if missing and (offline or "apt-get" not in have.tools):
        yield _Obstacle(
            f"the host lacks {', '.join(missing)}",
            why=("engine.index_url is none: nothing may be installed.",) if offline else ("It has no apt-get.",),
            tries=(f"on the host: apt-get install -y {' '.join(missing)}",),
        )


def _needed_tools(engine: Engine, resolution: Resolution) -> tuple[str, ...]:
    """git for what comes from git; a C compiler because Triton compiles its launchers at run time."""
    return (*(("git",) if resolution.source.from_git else ()), *(() if engine.index_url == "none" else ("cc",)))


def _packages(engine: Engine, resolution: Resolution, have: EngineFacts) -> tuple[str, ...]:
    packages = [_PACKAGES[tool] for tool in _needed_tools(engine, resolution) if tool not in have.tools]
    if "build-essential" in packages and engine.python is None:
        packages.append("python3-dev")  # Python.h, for what Triton compiles
    return tuple(packages)


def _in_the_way(obstacles: list[_Obstacle]) -> PreflightError:
    if len(obstacles) == 1:
        return PreflightError(obstacles[0].what, where=("engine",), why=obstacles[0].why, tries=obstacles[0].tries)
    return PreflightError(
        f"{len(obstacles)} things are in the way of the engine's build",
        where=("engine",),
        why=[line for one in obstacles for line in (one.what, *(f"  {why}" for why in one.why))],
        tries=tuple(dict.fromkeys(line for one in obstacles for line in one.tries)),
    )


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
