"""Where acceptance can be read from: files here, stdin, a host's log, its counters, a release's gate."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from inventory.errors import ServerError, SpecrailError, UsageError
from inventory.shell import command
from playbooks.reach import get_in
from playbooks.site import Site
from roles.acceptance import remote
from roles.acceptance.baseline import Baseline, from_json
from roles.acceptance.counters import delta, read
from roles.acceptance.loglines import LogReader
from roles.acceptance.reading import Reading
from roles.acceptance.scan import Readable, read_file, read_stream
from roles.acceptance.series import Seen
from roles.load.client import get

STDIN = "-"
_LOG_TIMEOUT_S = 600
_GATE_LIMIT = 4 << 20


def from_files(names: Sequence[str]) -> Reading:
    """The files (or stdin) as one server's log, in the order in which they are given. Raises UsageError."""
    if len(names) == 1 and names[0] != STDIN and (baseline := _gate_file(Path(names[0]))) is not None:
        return from_baseline(baseline)
    reader = LogReader()
    number = 0
    for name in names:
        try:
            number = (
                read_stream(cast("Readable", sys.stdin.buffer), reader, number)
                if name == STDIN
                else read_file(Path(name), reader, number)
            )
        except (OSError, EOFError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise UsageError(
                f"{name}: {why}", tries=["invoke acceptance --log FILE", "invoke acceptance --log -"]
            ) from error
    return reader.reading()


def label(names: Sequence[str]) -> str:
    """How a message calls these files."""
    first = "stdin" if names[0] == STDIN else Path(names[0]).name
    return first if len(names) == 1 else f"{first} and {len(names) - 1} more"


def from_host(site: Site) -> Reading:
    """The host's log, read there. Raises ServerError where there is none."""
    get_in(site)
    with site.talk.work("acceptance", f"reading {site.layout.log} on {site.name}") as work:
        answer = site.shell.run(remote.question(site.layout.log), timeout_s=_LOG_TIMEOUT_S).stdout
        part = remote.parse(answer)
        if part.inode is None:
            raise ServerError(
                f"there is no log: {site.layout.log}",
                where=[site.name],
                tries=[f"invoke status --host {site.name}", f"invoke deploy --host {site.name}"],
            )
        before = f" and {part.pieces} rotated files" if part.pieces else ""
        work.done(f"{len(part.lines)} lines that count, of {part.end / 1e6:.1f} MB{before}")
    reader = LogReader()
    for number, line in enumerate(part.lines, start=1):
        reader.line(number, line)
    reading = reader.reading()
    if not part.dropped:
        return reading
    note = f"{part.dropped} older lines of the log were left out: the last {len(part.lines)} were read"
    return replace(reading, notes=(*reading.notes, note))


def from_counters(site: Site, seconds: float, wait: Callable[[float], None] = time.sleep) -> Reading:
    """What the server counts in the next `seconds`. Raises what the server's endpoint raises."""
    if site.host.server.reach == "tunnel":
        get_in(site)
    with site.endpoint() as endpoint, site.talk.work("acceptance", f"counting for {seconds:g} s") as work:
        before = read(get(endpoint, "/metrics")[1], read_at_s=time.monotonic())
        wait(seconds)
        after = read(get(endpoint, "/metrics")[1], read_at_s=time.monotonic())
        window = delta(before, after)
        work.done(f"{window.rounds} rounds in {seconds:g} s")
    if not window.rounds:
        return Reading(engine="vLLM", why_nothing=window.doubts[0] if window.doubts else "no drafts were made")
    return Reading(seen=(Seen(window, 0),), kept=1, engine="vLLM")


def from_release(site: Site, release: str) -> Reading:
    """What a release's gate measured on its host. Raises UsageError for one without a gate."""
    get_in(site)
    path = f"{site.layout.base}/releases/{release}/gate.json"
    text = site.shell.read(path, limit_bytes=_GATE_LIMIT) if "/" not in release else None
    if text is None:
        raise UsageError(
            f"{release} is no file here, and no release with a gate on {site.name}",
            where=[site.name],
            tries=[command("invoke", "releases", "--host", site.name)],
        )
    return from_baseline(from_json(text))


def from_baseline(baseline: Baseline) -> Reading:
    """A gate's measurement as evidence: a window for each prompt. Of one that collapsed there are only the probes."""
    measured = [prompt for prompt in baseline.windows or baseline.probes if prompt.window.rounds]
    seen = tuple(Seen(prompt.window, i, prompt=prompt.prompt) for i, prompt in enumerate(measured, start=1))
    engine = baseline.conditions.engine
    versions = (engine.removeprefix("vllm "),) if engine else ()
    return Reading(
        seen=seen,
        kept=len(seen),
        engine="vLLM",
        versions=versions,
        why_nothing=None if seen else "the gate counted no round",
        method=baseline.conditions.method,
        conditions=baseline.conditions,
        again=baseline.again,
    )


def _gate_file(path: Path) -> Baseline | None:
    """A gate.json that was copied here; None for any other file."""
    if path.suffix != ".json":
        return None
    try:
        if path.stat().st_size > _GATE_LIMIT:
            return None
        text = path.read_bytes()
        if not isinstance(document := json.loads(text), dict) or "conditions" not in document:
            return None
        return from_json(text)
    except (OSError, ValueError, RecursionError, SpecrailError):
        return None
