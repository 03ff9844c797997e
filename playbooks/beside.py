"""A release that is written beside the running one, before anything is switched."""

from dataclasses import replace
from datetime import UTC, datetime

from playbooks import build
from playbooks.desired import manifest_of, staging_of
from playbooks.inside import Flags, plan_inside
from playbooks.site import Site
from playbooks.survey import survey
from roles.release import control, stage
from roles.release.manifest import Manifest


def write_beside(site: Site, flags: Flags) -> Manifest:
    """What `site.host` comes to now, as a release of its own; builds the engine where it is not there yet."""
    inside = plan_inside(site, survey(site), flags)
    version = build.engine(site, inside)
    if inside.install_control:
        control.install(site.shell, site.layout, inside.files)
    want = replace(inside.wanted, engine={**inside.wanted.engine, "version": version})
    manifest = manifest_of(want, site.host, datetime.now(UTC), inside.forced)
    stage.stage(site.shell, site.layout, staging_of(manifest, want, site.host, site.layout, site.server_secrets))
    return manifest
