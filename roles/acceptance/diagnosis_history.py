"""What a history of windows says that their sum does not: steps, slides, good and dead windows, one bad engine."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from inventory.shell import command
from roles.acceptance.changes import Change
from roles.acceptance.diagnosis import Cause
from roles.acceptance.series import Seen
from roles.acceptance.vllm_releases import differ
from roles.acceptance.window import Window, pool

_ENOUGH_ROUNDS = 15
_DEAD = 0.05
_ALIVE = 0.3
_SHARE = 0.1
_LONG = 4  # dead windows a turn; more is a server that was broken for a while


def mixture(seen: Sequence[Seen], *, host: str) -> Cause | None:
    """Good and dead windows side by side, which no moment explains: one engine of several, or some of the requests."""
    return _one_engine(seen, host) or _good_and_dead(seen, host)


def causes(found: Sequence[Change], *, host: str) -> Iterator[Cause]:
    """What a change downwards gives away. A steady history has none."""
    downs = [change for change in found if change.after < change.before]
    if downs and downs[-1].kind == "step":
        yield _step(downs[-1], host)
    elif downs:
        yield _slide(downs[-1], healed=any(change.after > change.before for change in found), host=host)


def _step(change: Change, host: str) -> Cause:
    size = f"{change.before:.2f} -> {change.after:.2f} ({100 * change.relative:+.0f} %) at {_when(change)}"
    old, new = change.first.version, change.last.version
    if old is not None and new is not None and differ(old, new):
        return Cause(
            "engine-changed",
            f"the engine changed from vLLM {old} to {new}",
            f"{size}: exactly where another version begins to write the log",
            command("invoke", "rollback", "--host", host),
        )
    return Cause(
        "changed-at-once",
        "something changed at one moment: a restart with another config, other requests, another sampling default",
        size,
        command("invoke", "releases", "--host", host),
    )


def _slide(change: Change, *, healed: bool, host: str) -> Cause:
    size = f"{change.before:.2f} -> {change.after:.2f} ({100 * change.relative:+.0f} %)"
    return Cause(
        "slow-decay",
        "a slow slide: what a server collects while it runs (prefix cache, KV), or requests that change; "
        + ("a restart healed it" if healed else "the same prompts as before tell which"),
        f"{size} from {_time(change.first)} to {_time(change.last)}",
        command("invoke", "bench", "--host", host),
    )


def _good_and_dead(seen: Sequence[Seen], host: str) -> Cause | None:
    """Windows in which next to nothing is accepted, in turn with good ones."""
    enough = [one.window for one in seen if one.window.rounds >= _ENOUGH_ROUNDS and one.window.per_position]
    kinds = [kind for window in enough if (kind := _kind(window)) is not None]
    dead = kinds.count("dead")
    turns = sum(one != other for one, other in pairwise(kinds))
    if not kinds or min(dead, len(kinds) - dead) < max(2, _SHARE * len(kinds)) or turns < max(3, dead / _LONG):
        return None
    return Cause(
        "good-and-dead-windows",
        "some requests get no usable drafts: longer than the drafter's max_position_embeddings or window",
        f"{dead} of {len(kinds)} windows accept next to nothing, in turn with good ones",
        command("invoke", "drafter", "--host", host),
    )


def _one_engine(seen: Sequence[Seen], host: str) -> Cause | None:
    """A data-parallel engine whose drafter does not work while the others' does."""
    groups: dict[str, list[Window]] = {}
    for one in seen:
        if one.window.engine is not None:
            groups.setdefault(one.window.engine, []).append(one.window)
    pooled = {engine: pool(windows) for engine, windows in groups.items()}
    kinds = {engine: _kind(window) for engine, window in pooled.items() if window.rounds >= _ENOUGH_ROUNDS}
    dead = sorted(engine for engine, kind in kinds.items() if kind == "dead")
    if not dead or "alive" not in kinds.values():
        return None
    return Cause(
        "one-engine-broken",
        f"the drafter of engine {', '.join(dead)} does not work, that of the others does",
        ", ".join(f"engine {engine}: {window.acceptance_length or 1:.2f}" for engine, window in sorted(pooled.items())),
        command("invoke", "logs", "--host", host),
    )


def _kind(window: Window) -> str | None:
    rates = window.per_position_rates
    if not rates:
        return None
    return "dead" if rates[0] < _DEAD else "alive" if rates[0] >= _ALIVE else None


def _when(change: Change) -> str:
    return f"{_time(change.first)} .. {_time(change.last)}"


def _time(one: Seen) -> str:
    return one.at or f"line {one.number}"
