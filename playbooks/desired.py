"""From what is wanted and what was found out to the one release that it comes to. No I/O."""

import getpass
import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from inventory.models import Host
from roles.drafter.batch_table import KEY
from roles.engine.resolve import Resolution
from roles.engine.serve import cache_folder, serve
from roles.release.layout import Layout
from roles.release.manifest import Manifest, digest, release_id
from roles.release.stage import File, Staging
from templates.render import render

_RELEASE = "RELEASE"
"""Stands for the release's own folder wherever two releases with the same content must look the same."""


@dataclass(frozen=True)
class Wanted:
    """A release that is wanted, before it has a name.

    digest:  over everything that decides what runs, but no secret values
    argv, environment: with RELEASE for the release's folder
    drafter_config: the text of drafter/config.json; None without a drafter that has one
    """

    digest: str
    engine: Mapping[str, str | None]
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    drafter: Mapping[str, str | int | None] | None
    drafter_config: str | None


def wanted(
    host: Host,
    layout: Layout,
    *,
    resolution: Resolution,
    venv: str,
    version: str | None,
    drafter_config: str | None,
    drafter_sha256: str | None,
    speculative: Mapping[str, object] | None,
) -> Wanted:
    """Put it together. venv is the absolute path of the engine's venv, version what its provenance says."""
    cache = cache_folder(layout.base, venv, drafter_sha256)
    served = serve(host.engine.kind, venv, host.model, host.server, speculative, cache)
    engine = {
        "kind": host.engine.kind,
        "source": host.engine.source,
        "commit": resolution.commit,
        "version": version or resolution.version,
        "venv": venv.rsplit("/", 1)[-1],
    }
    drafter: dict[str, str | int | None] | None = None
    if host.drafter is not None:
        drafter = {
            "method": host.drafter.method,
            "tokens": host.drafter.tokens,
            "path": host.drafter.path,
            "config_sha256": drafter_sha256,
            "repository": host.drafter.repository,
            "revision": host.drafter.revision,
        }
        if table := host.drafter.options.get(KEY):
            drafter["tokens_by_batch_size"] = json.dumps(table)
    content = {
        "engine": {name: value for name, value in engine.items() if name != "version"},
        "argv": served.argv,
        "environment": served.env,
        "secret_names": sorted(host.server.secrets),
        "drafter": drafter,
        "model": asdict_model(host),
    }
    return Wanted(
        digest=digest(content),
        engine=engine,
        argv=served.argv,
        environment=served.env,
        drafter=drafter,
        drafter_config=drafter_config,
    )


def asdict_model(host: Host) -> dict[str, str | None]:
    """The target as a manifest has it."""
    return {"path": host.model.path, "served_name": host.model.served_name, "revision": host.model.revision}


def environment_sha256(want: Wanted, secret_values: Mapping[str, str]) -> str:
    """Digest of the server.env that this release would get: changed secrets show, and are not shown."""
    return hashlib.sha256(environment_text(want.environment, secret_values).encode()).hexdigest()


def environment_text(environment: Mapping[str, str], secret_values: Mapping[str, str]) -> str:
    """server.env: what is not secret and what is, in one 0600 file."""
    return render("server/server.env.j2", environment=sorted({**environment, **secret_values}.items()))


def manifest_of(want: Wanted, host: Host, made_at: datetime, forced: tuple[str, ...]) -> Manifest:
    """The manifest of a release made now."""
    return Manifest(
        id=release_id(made_at, want.digest),
        digest=want.digest,
        service=host.server.name,
        created_at=made_at.isoformat(timespec="seconds"),
        created_by=who(),
        engine=want.engine,
        model=asdict_model(host),
        drafter=want.drafter,
        argv=want.argv,
        environment=want.environment,
        secret_names=tuple(sorted(host.server.secrets)),
        port=host.server.port,
        forced=forced,
    )


def staging_of(
    manifest: Manifest, want: Wanted, host: Host, layout: Layout, secret_values: Mapping[str, str]
) -> Staging:
    """The release's files."""
    folder = layout.release(manifest.id)
    launch = render(
        "server/launch.sh.j2",
        release=manifest.id,
        folder=folder,
        venv=f"{layout.venvs}/{manifest.venv}",
        argv=[word.replace(_RELEASE, folder) for word in want.argv],
    )
    files = {
        "manifest.json": File(manifest.to_json().encode()),
        "launch.sh": File(launch.encode(), 0o755),
        "server.env": File(environment_text(want.environment, secret_values).encode(), 0o600),
    }
    links: tuple[tuple[str, str], ...] = ()
    if want.drafter_config is not None:
        files["drafter/config.json"] = File(want.drafter_config.encode())
    if host.drafter and host.drafter.path:
        links = (("drafter", host.drafter.path),)
    return Staging(release=manifest.id, files=files, links=links)


def who() -> str:
    """Who runs this, and where: for locks, manifests and the audit."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        user = "unknown"
    return f"{user}@{platform.node()}"
