"""invoke rollback: back to a release that passed its gate, verified as a deploy is verified."""

from inventory.errors import UsageError
from playbooks.bringup import bring_up
from playbooks.changing import DeployOutcome, locked, record
from playbooks.site import Site
from playbooks.survey import gpu_of, release_facts
from playbooks.verify import stored_baseline
from roles.release.facts import Release, ReleaseFacts


def run(site: Site, to: str | None) -> DeployOutcome:
    """Go back. Nothing is built or resolved: the kept release and its kept venv are what they were."""
    target = choose(release_facts(site), to, site.name)
    with locked(site):
        facts = release_facts(site)
        target = choose(facts, to, site.name)
        manifest = target.manifest
        if manifest is None:
            raise UsageError(f"the manifest of {target.id} cannot be read", where=[site.name])
        site.talk.headline(f"rollback {site.name}: {facts.current or 'nothing'} -> {target.id}")
        with record(site, target.id, (f"rollback to {target.id}",)):
            baseline = stored_baseline(site, facts, target.id)
            arrival = bring_up(site, manifest, before=facts, baseline=baseline, gpu=gpu_of(site))
    return DeployOutcome(site.name, site.operation, (), target.id, arrival)


def choose(facts: ReleaseFacts, to: str | None, host: str) -> Release:
    """Which release to go to. Pure.

    Without `to`: the promoted release when something else is current, else the last one before it that passed.
    Raises UsageError when there is none, or `to` is not there.
    """
    passed = [release for release in facts.releases if release.outcome == "pass"]
    listing = [f"invoke releases --host {host}"]
    if to is not None:
        found = facts.release(to)
        if found is None:
            near = [release.id for release in facts.releases if release.id.endswith(to) or release.id.startswith(to)]
            raise UsageError(
                f"there is no release {to}",
                where=[host],
                tries=[f"invoke rollback --host {host} --to {release}" for release in near[:3]] or listing,
            )
        return found
    promoted = facts.release(facts.promoted)
    if promoted is not None and facts.current != facts.promoted:
        return promoted
    earlier = [release for release in passed if release.id < (facts.promoted or facts.current or "")]
    if not earlier:
        raise UsageError(
            "there is no earlier release that passed its gate",
            where=[host],
            why=["A rollback goes to the last release before the promoted one whose gate said pass."],
            tries=[f"invoke rollback --host {host} --to RELEASE", *listing],
        )
    return earlier[-1]
