"""Why an engine died or does not answer: known texts in its log, what they mean, and what helps."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from inventory.errors import ServerError

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(
    r"^.*?(?:\([A-Za-z_][\w. =\-]*? pid=\d+\) )?(?:(?:ERROR|INFO|WARNING) \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]+\] )"
)
_EXCEPTION = re.compile(r"(?:^|\s)((?:[a-z_]+\.)*[A-Z]\w*(?:Error|Exception|Exit)(?:\[\w+\])?: .+)$")


# vLLM 0.32: a server that is asked to stop ends its core first, and then complains in its log that the core is dead.
_STOPPED = re.compile(r"\[shutdown\] API server: shutdown triggered")
_LAUNCHED = re.compile(r"^specrail: launch ")
_CORE_IS_DEAD = re.compile(r"EngineDeadError")


@dataclass(frozen=True)
class Signature:
    """A text that names a cause.

    rank: lower is nearer to the root; "engine core failed, see above" is a consequence and ranks last
    """

    id: str
    pattern: re.Pattern[str]
    what: str
    why: str
    tries: tuple[str, ...]
    rank: int


@dataclass(frozen=True)
class Cause:
    """What a log says: the signature nearest to the root (None if no known one), its line, the last exception."""

    signature: Signature | None
    line: str | None
    exception: str | None


@cache
def signatures() -> tuple[Signature, ...]:
    """The table (signatures.yml), in its order: the nearest to the root first."""
    raw = yaml.safe_load((Path(__file__).parent / "signatures.yml").read_text())
    return tuple(
        Signature(
            id=entry["id"],
            pattern=re.compile(entry["pattern"]),
            what=entry["what"],
            why=entry.get("why", ""),
            tries=tuple(entry.get("tries", ())),
            rank=rank,
        )
        for rank, entry in enumerate(raw)
    )


def diagnose(lines: Sequence[str]) -> Cause:
    """The root cause in a log's lines: of all signatures that match, the one nearest to the root.

    The engine prints its root cause *above* the last error, so the whole text counts, not its end.
    """
    best: Signature | None = None
    best_line: str | None = None
    exception: str | None = None
    stopped = False
    for raw in lines:
        line = _ANSI.sub("", raw.rstrip("\r\n"))
        stopped = (stopped or _STOPPED.search(line) is not None) and not _LAUNCHED.match(line)
        if stopped and _CORE_IS_DEAD.search(line):
            continue
        bare = _PREFIX.sub("", line)
        for signature in signatures():
            if (best is None or signature.rank < best.rank) and signature.pattern.search(line):
                best, best_line = signature, bare.strip()
        if (match := _EXCEPTION.search(bare)) and (exception is None or "root cause" not in match.group(1)):
            exception = match.group(1)
    return Cause(signature=best, line=best_line, exception=exception)


def explain(lines: Sequence[str], *, fallback: str, host: str, values: Sequence[tuple[str, str]] = ()) -> ServerError:
    """The error to raise for a server that failed with this log. `fallback` is what happened in our words.

    values: what placeholders of the remedies ("{host}") stand for, besides host.
    """
    cause = diagnose(lines)
    names = {"host": host, **dict(values)}
    tail = [_ANSI.sub("", line.rstrip("\r\n")) for line in lines if line.strip()][-6:]
    log = f"invoke logs --host {host}"
    if cause.signature is None:
        said = [f"Last exception: {cause.exception[:300]}"] if cause.exception else []
        return ServerError(fallback, why=[*said, *(f"| {line[:200]}" for line in tail)], log=log)
    quoted = [f"| {cause.line[:300]}"] if cause.line else []
    if cause.exception and cause.exception[:300] not in "".join(quoted):
        quoted.append(f"| {cause.exception[:300]}")
    return ServerError(
        f"{fallback}: {cause.signature.what}",
        why=[cause.signature.why, *quoted] if cause.signature.why else quoted,
        tries=[_fill(remedy, names) for remedy in cause.signature.tries],
        log=log,
    )


def _fill(text: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        text = text.replace("{" + name + "}", value)
    return text
