"""A release folder: put together here, sent in one piece, there whole or not at all."""

import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field

from inventory.shell import Shell, command
from roles.release.layout import Layout


@dataclass(frozen=True)
class File:
    """One file of a release."""

    content: bytes
    mode: int = 0o644


@dataclass(frozen=True)
class Staging:
    """A release that is to be: its files, and which folders' entries are linked into it.

    links: ("drafter", "/mnt/models/X-DFlash") links every entry of that folder below drafter/, except files that
    the release has itself: a rollback restores the config too, the weights stay where they are.
    """

    release: str
    files: Mapping[str, File]
    links: tuple[tuple[str, str], ...] = field(default=())


def archive(staging: Staging) -> bytes:
    """The release as a tar, with the modes that it shall have; nothing in it depends on the clock."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, file in sorted(staging.files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(file.content), file.mode
            tar.addfile(entry, io.BytesIO(file.content))
    return buffer.getvalue()


def script(layout: Layout, staging: Staging) -> str:
    """What the host runs with the archive on its standard input."""
    links = "".join(
        f"""mkdir -p "$part"/{command(below)}
for entry in {command(source)}/*; do
  name=${{entry##*/}}
  [ ! -e "$entry" ] || [ -e "$part"/{command(below)}/"$name" ] || ln -s "$entry" "$part"/{command(below)}/"$name"
done
"""
        for below, source in staging.links
    )
    return f"""set -eu
umask 022
mkdir -p {command(layout.base)}/releases
part={command(layout.base)}/releases/.part-{command(staging.release)}
rm -rf "$part"
mkdir "$part"
tar -xpf - -C "$part"
{links}sync -f "$part" 2>/dev/null || sync
mv -T "$part" {command(layout.release(staging.release))}
"""


def stage(shell: Shell, layout: Layout, staging: Staging) -> None:
    """Put a release on the host, beside what runs. One exec."""
    shell.run(script(layout, staging), stdin=archive(staging), timeout_s=120)
