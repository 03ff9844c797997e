"""Following one server: the newest windows decide, and each event is told once."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from inventory.errors import SpecrailError
from inventory.models import Gate
from inventory.shell import command
from roles.acceptance.judgement import Judgement, judge
from roles.acceptance.lately import newest
from roles.acceptance.reading import Reading
from roles.acceptance.series import Seen

_AWAY = "unreachable"
_DOWN = "server-down"


@dataclass(frozen=True)
class State:
    """What is remembered between two looks.

    inode, offset: where the log is to be gone on with
    recent:        the newest windows
    alarm:         id of the event that goes on; None when all is well
    away:          whether the host could not be read at the last look
    down:          whether its server was told not to answer
    rounds:        counted since the watch began, and so on
    """

    inode: int | None = None
    offset: int = 0
    recent: tuple[Seen, ...] = ()
    alarm: str | None = None
    away: bool = False
    down: bool = False
    rounds: int = 0
    accepted: int = 0
    drafted: int = 0


@dataclass(frozen=True)
class Event:
    """Something that began or ended. text is one line for people, next a command."""

    kind: Literal["alarm", "recovered"]
    id: str
    text: str
    next: str | None


_STATE = TypeAdapter(State)


def to_json(state: State) -> bytes:
    """What `from_json` reads."""
    return _STATE.dump_json(state)


def from_json(text: bytes | None) -> State:
    """The state that was kept; a new one for nothing, or for what cannot be read."""
    if text is None:
        return State()
    try:
        return _STATE.validate_json(text)
    except (ValidationError, ValueError):
        return State()


def look(state: State, reading: Reading, *, policy: Gate, host: str) -> tuple[State, tuple[Event, ...], Judgement]:
    """Take what was read since the last look. Pure.

    An alarm begins when the newest rounds fail, is told once, and ends when they pass; in between (inconclusive, or
    nothing served) it stays as it is. A k that changed begins with its own windows only.
    """
    back = (Event("recovered", _AWAY, "its log can be read again", None),) if state.away else ()
    state = replace(state, away=False)
    recent = newest((*state.recent, *reading.seen))
    found = judge(replace(reading, seen=recent, kept=len(recent)), label=host, policy=policy, host=host)
    after = replace(
        state,
        recent=recent,
        rounds=state.rounds + sum(one.window.rounds for one in reading.seen),
        accepted=state.accepted + sum(one.window.accepted for one in reading.seen),
        drafted=state.drafted + sum(one.window.drafted for one in reading.seen),
    )
    if not reading.seen:
        return after, back, found
    if found.outcome == "fail" and state.alarm is None:
        cause = found.causes[0] if found.causes else None
        alarm = cause.id if cause else "acceptance"
        why = f"; most likely {cause.cause}" if cause else ""
        event = Event("alarm", alarm, f"{found.reasons[0]}{why}", found.next)
        return replace(after, alarm=alarm), (*back, event), found
    if found.outcome == "pass" and state.alarm is not None:
        text = f"acceptance length is {found.summary.length:.2f} again" if found.summary.length else "well again"
        return replace(after, alarm=None), (*back, Event("recovered", state.alarm, text, None)), found
    return after, back, found


def away(state: State, error: SpecrailError, host: str) -> tuple[State, tuple[Event, ...]]:
    """Take that the host could not be read: told once, until it can be. What it said before is kept."""
    if state.away:
        return state, ()
    next_ = error.tries[0] if error.tries else command("invoke", "status", "--host", host)
    return replace(state, away=True), (Event("alarm", _AWAY, f"cannot be read: {error.what}", next_),)


def answers(state: State, why_not: str | None, *, quiet: bool, host: str) -> tuple[State, tuple[Event, ...]]:
    """Take whether the server answers (why_not is None), which its log does not say.

    quiet: it has logged nothing since the last look. One that does not answer and logs is starting: no event.
    """
    if why_not is None and state.down:
        return replace(state, down=False), (Event("recovered", _DOWN, "the server answers again", None),)
    if why_not is not None and quiet and not state.down:
        logs = command("invoke", "logs", "--host", host)
        return replace(state, down=True), (Event("alarm", _DOWN, f"the server does not answer: {why_not}", logs),)
    return state, ()


def at(state: State, inode: int | None, offset: int) -> State:
    """The state, to go on from there."""
    return replace(state, inode=inode, offset=offset)


def as_json(state: State, events: Sequence[Event]) -> dict[str, object]:
    """What a look adds to its judgement, for programs."""
    return {
        "alarm": state.alarm,
        "away": state.away,
        "down": state.down,
        "events": [asdict(event) for event in events],
        "watched": {"rounds": state.rounds, "accepted": state.accepted, "drafted": state.drafted},
    }
