"""The script that builds one venv on a host, rendered; the caller runs it as a job that outlives the line."""

import hashlib
import re
from dataclasses import asdict

from inventory.models import Engine
from roles.engine import provenance
from roles.engine.kinds import KINDS
from roles.engine.plan import EnginePlan
from roles.engine.provenance import Provenance
from roles.engine.resolve import Resolution
from templates.render import render

REFUSED = 65
"""Exit status of the script when it says why itself, in a line "specrail: fail KIND DETAIL"."""

COMPILED_PATHS = r"^(csrc|cmake|rust)/|(^|/)CMakeLists\.txt$|\.(cu|cuh|c|cc|cpp|h|hpp|hip|rs)$"
"""Files (ERE) that end up in compiled libraries: changed ones make a published wheel's libraries the wrong ones."""

COMPILED_LINES = r"^[+-]([^+-].*)?(torch *[=<>~]=|CMakeExtension|ext_modules)"
"""Lines of a diff (ERE) that change what is compiled, or the torch that it was compiled against."""

PHASES = (
    *("lock", "clean", "packages", "fetch", "checkout", "base"),
    *("venv", "install", "check", "freeze", "provenance", "done"),
)
"""In the order in which the script tells them, "specrail: phase NAME"; a build passes those that it needs."""


def script(engine: Engine, resolution: Resolution, plan: EnginePlan, base: str, *, lock_wait_s: int = 3600) -> str:
    """The build as a POSIX shell script. It ends with status 0 and a whole venv, or without provenance.json.

    The same for the same build, at any time and from anywhere: that is how a build that goes on is found again.

    base:        the service's folder on the host
    lock_wait_s: how long it waits for another build of the same service
    """
    kind = KINDS[engine.kind]
    source = resolution.source
    static = Provenance(
        kind=engine.kind,
        source=engine.source,
        repository=engine.repository if source.from_git else None,
        ref=resolution.ref,
        commit=resolution.commit,
        build=engine.build,
        torch_backend=engine.torch_backend,
        distribution=engine.distribution,
        packages="\n".join(engine.packages) or None,
        overrides="\n".join(engine.overrides) or None,
    )
    distribution = engine.distribution or kind.distribution
    return render(
        "engine/build.sh.j2",
        title=f"{engine.kind} {resolution.label} ({source})",
        base=base,
        venv=plan.venv,
        uv=plan.uv,
        refused=REFUSED,
        lock_wait_s=lock_wait_s,
        packages=plan.packages,
        offline=engine.index_url == "none",
        index_url=engine.index_url,
        torch_backend=None if engine.torch_backend == "index" else engine.torch_backend,
        find_links=engine.find_links,
        environment=sorted(engine.env.items()),
        beside=engine.packages,
        overrides=engine.overrides,
        python=engine.python,
        build=engine.build,
        from_git=source.from_git,
        source_folder_on_host=source.value if source.kind == "path" else None,
        repository=engine.repository,
        repository_id=hashlib.sha256(engine.repository.encode()).hexdigest()[:8],
        ref=resolution.ref,
        commit=resolution.commit,
        branch=branch(resolution),
        compiled_paths=COMPILED_PATHS,
        compiled_lines=COMPILED_LINES,
        precompiled=kind.precompiled,
        source_folder=kind.source_folder,
        requirement=f"{distribution}=={source.value}" if source.kind == "release" else source.value,
        alias=render("engine/alias.py.j2", distribution=distribution, alias=kind.distribution).rstrip("\n")
        if distribution != kind.distribution
        else None,
        import_check=render("engine/check.py.j2", module=kind.module, distribution=kind.distribution),
        provenance_file=provenance.FILE,
        provenance_program=render(
            "engine/provenance.py.j2", static=asdict(static), provenance_file=provenance.FILE
        ).rstrip("\n"),
    )


def branch(resolution: Resolution) -> str:
    """Name of the local branch that the commit is checked out as: `specrail-<ref>-<sha12>`."""
    ref = f"{resolution.source.kind}-{resolution.source.value}" if resolution.ref else "commit"
    return f"specrail-{re.sub(r'[^A-Za-z0-9-]', '-', ref)}-{resolution.label}"


def phase(line: str) -> str | None:
    """The phase that a line of the build's output begins; None for any other line."""
    found = re.fullmatch(r"specrail: phase ([a-z]+)\s*", line)
    return found[1] if found else None
