"""What may go: releases and venvs that nobody can want back."""

from collections.abc import Collection

from inventory.shell import Shell, command
from roles.release.facts import ReleaseFacts
from roles.release.layout import Layout


def removable(facts: ReleaseFacts, keep: int) -> tuple[str, ...]:
    """Ids of releases beyond the newest `keep`, oldest first.

    Never what is current, promoted, pending or its way back; and never the last release before the promoted one that
    passed its gate: it is what `invoke rollback` goes to.
    """
    pending = facts.pending
    held = {facts.current, facts.promoted, *((pending.release, pending.previous) if pending else ())}
    passed = [r.id for r in facts.releases if r.outcome == "pass" and r.id < (facts.promoted or "")]
    held |= set(passed[-1:])
    newest = {release.id for release in facts.releases[-keep:]}
    return tuple(release.id for release in facts.releases if release.id not in held | newest)


def orphans(facts: ReleaseFacts, venvs: Collection[str], gone: Collection[str]) -> tuple[str, ...]:
    """Names of venvs that no release needs once `gone` is gone. A release that cannot be read keeps them all."""
    left = [release for release in facts.releases if release.id not in gone]
    if any(release.manifest is None for release in left):
        return ()
    needed = {release.manifest.venv for release in left if release.manifest}
    return tuple(sorted(name for name in venvs if name not in needed))


def remove(shell: Shell, layout: Layout, releases: Collection[str], venvs: Collection[str]) -> None:
    """Take them away. A folder is renamed first, so that half of one is never taken for a whole."""
    paths = [layout.release(release) for release in releases] + [f"{layout.venvs}/{venv}" for venv in venvs]
    if not paths:
        return
    lines = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        gone = command(f"{folder}/.gone-{name}")
        lines.append(f"mv -T {command(path)} {gone} && rm -rf {gone}")
    shell.run("\n".join(lines), timeout_s=300)
