"""From engine.source to the one commit or version that is meant, asked of the repository from the controller."""

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from inventory.errors import EngineError
from inventory.models import Engine
from roles.engine import known
from roles.engine.provenance import Provenance
from roles.engine.source import Source, parse

TIMEOUT_S = 30

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Resolution:
    """What will be installed.

    commit:   40 hex digits, for sources from git and for a checkout on the host that is one
    version:  for a release, or a wheel whose name says it
    ref:      the git ref it was found at
    moved_to: where the ref points now, when the older commit that the host runs was kept
    notes:    what a person should know about it
    """

    source: Source
    commit: str | None = None
    version: str | None = None
    ref: str | None = None
    moved_to: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Short name of the build: twelve digits of the commit, or the version."""
        return self.commit[:12] if self.commit else self.version or self.source.kind


@dataclass(frozen=True)
class _Unanswered:
    """Why the repository did not say where a ref points; gone: it answered, and has no such ref."""

    reason: str
    gone: bool = False


def resolve(
    engine: Engine,
    previous: Provenance | None,
    update: bool,
    run: Run = subprocess.run,
    *,
    path_commit: str | None = None,
) -> Resolution:
    """Which commit or version `engine` means now.

    previous:    of the build that the host runs; its commit is kept when the same source has moved on, unless `update`
    run:         as subprocess.run
    path_commit: HEAD of the checkout that a path: source names, from the host's facts

    A pin (engine.commit) wins and asks nobody. A repository that does not answer is no failure when a commit is known.
    Raises EngineError when nothing is known.
    """
    source = parse(engine.source)
    if source.kind == "release":
        return Resolution(source, version=source.value)
    if source.kind == "wheel":
        return Resolution(source, version=_wheel_version(source.value))
    if source.kind == "path":
        return Resolution(source, commit=path_commit)
    if source.ref is None:
        return Resolution(source, commit=source.value)
    advice = known.note(engine.repository, source.pull_request) if source.pull_request else None
    notes = (advice,) if advice else ()
    if engine.commit:
        return Resolution(source, commit=engine.commit, ref=source.ref, notes=notes)
    kept = previous.commit if previous and _same_source(engine, previous) else None
    head = _head(engine.repository, source.ref, run)
    if isinstance(head, _Unanswered):
        if kept is None:
            raise _unresolved(engine, source, head)
        missing = f"{source.title} is gone" if head.gone else "the repository does not answer"
        return Resolution(
            source, commit=kept, ref=source.ref, notes=(*notes, f"{missing}, {kept[:12]} is kept: {head.reason}")
        )
    if kept in {None, head} or update:
        return Resolution(source, commit=head, ref=source.ref, notes=notes)
    moved = f"{source.title} has moved on to {head[:12]}; {kept[:12]} is kept until a deploy with --update"
    return Resolution(source, commit=kept, ref=source.ref, moved_to=head, notes=(*notes, moved))


def _same_source(engine: Engine, previous: Provenance) -> bool:
    return (previous.kind, previous.source, previous.repository) == (engine.kind, engine.source, engine.repository)


def _wheel_version(location: str) -> str | None:
    """The version in a wheel's file name (PEP 427); None for a name that is not of that form."""
    name = re.split(r"[?#]", location, maxsplit=1)[0].rsplit("/", 1)[-1].replace("%2B", "+").replace("%2b", "+")
    parts = name.removesuffix(".whl").split("-")
    return (
        parts[1] if name.endswith(".whl") and len(parts) >= 5 and re.fullmatch(r"[0-9A-Za-z.+!_]+", parts[1]) else None
    )


def _head(repository: str, ref: str, run: Run) -> str | _Unanswered:
    quiet = {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",  # the command: answers every question with nothing
        "SSH_ASKPASS": "true",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=15",
        "LC_ALL": "C",
    }
    try:
        answer = run(
            ["git", "ls-remote", "--", repository, ref],
            env={**os.environ, **quiet},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError:
        return _Unanswered("there is no git on this machine")
    except subprocess.TimeoutExpired:
        return _Unanswered(f"git ls-remote did not end within {TIMEOUT_S} s")
    if answer.returncode != 0:
        lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
        return _Unanswered(
            next((line for line in lines if line.startswith("fatal:")), "\n".join(lines[-1:]) or "no reason")
        )
    for line in answer.stdout.splitlines():
        if found := re.fullmatch(rf"([0-9a-f]{{40}})\t{re.escape(ref)}", line):
            return found[1]
    return _Unanswered(f"it has no {ref}", gone=True)


_HELP = (
    (
        r"no git on this machine",
        (),
        ("apt-get install -y git", "engine.commit: <40 hex digits>   (a pin needs no repository)"),
    ),
    (
        r"could not read Username|Authentication failed|Permission denied \(publickey|terminal prompts disabled",
        ("The repository is private or does not exist, and nobody is asked for a password here.",),
        ("check engine.repository", "load a key that may read it: ssh-add KEY, and repository: ssh://git@HOST/PATH"),
    ),
    (
        r"not found|does not appear to be a git repository|does not exist",
        ("There is no repository at this address.",),
        ("check engine.repository",),
    ),
    (
        r"",
        ("The network, a proxy or the repository's server is not there; nothing says that the source is wrong.",),
        ("git ls-remote {repository}", "engine.commit: <40 hex digits>   (a pin needs no repository here)"),
    ),
)


def _unresolved(engine: Engine, source: Source, head: _Unanswered) -> EngineError:
    if head.gone:
        listing = "'refs/pull/*/head'" if source.kind == "pr" else "--heads"
        return EngineError(
            f"{source.title} is not known to {engine.repository}",
            where=("engine",),
            why=(f"The repository answered, and {head.reason}.",),
            tries=(
                f"git ls-remote {engine.repository} {listing} | tail",
                f"engine.source: release:{known.NEWEST_RELEASE}",
            ),
        )
    why, tries = next((why, tries) for pattern, why, tries in _HELP if re.search(pattern, head.reason))
    return EngineError(
        f"{source.title} cannot be looked up at {engine.repository}",
        where=("engine",),
        why=(head.reason, *why),
        tries=tuple(line.format(repository=engine.repository) for line in tries),
    )
