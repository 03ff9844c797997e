"""Measurements of the controller's history as evidence: a gate prompt by prompt, a bench as one window."""

import json
from dataclasses import fields

from pydantic import TypeAdapter, ValidationError

from inventory.errors import SpecrailError, UsageError
from playbooks.evidence import from_baseline
from roles.acceptance.baseline import from_json
from roles.acceptance.reading import Reading
from roles.acceptance.series import Seen
from roles.acceptance.window import Window, faults
from roles.conditions import Conditions
from roles.load.history import History, Run

_CONDITIONS = TypeAdapter(Conditions)
_WINDOW = TypeAdapter(Window)
_COUNTS = ("rounds", "accepted", "drafted", "per_position", "k")


def is_id(name: str) -> bool:
    """Whether a word can be the id of a measurement (`invoke history` prints them)."""
    return name.isascii() and name.isdigit()


def find(history: History, name: str) -> tuple[str, Reading]:
    """What a measurement is called, and its evidence. Raises UsageError for an id that nothing has."""
    run = history.get(int(name))
    if run is None:
        raise UsageError(
            f"{name} is no file here, and no measurement of the history",
            why=[f"The history is {history.path}."],
            tries=["invoke history --host NAME      (its first column has the ids)"],
        )
    return f"{run.kind} {name} of {run.host} ({run.at:%Y-%m-%d %H:%M})", reading(run)


def reading(run: Run) -> Reading:
    """A run's evidence; why_nothing says why there is none."""
    if (measured := (run.summary or {}).get("baseline")) is not None:
        try:
            return from_baseline(from_json(json.dumps(measured)))
        except SpecrailError as error:
            return Reading(engine="vLLM", why_nothing=error.what)
    window = _window(run)
    if window is None:
        return Reading(engine="vLLM", why_nothing="it ran without speculation, or counted no round")
    conditions = _conditions(run)
    requests = (run.summary or {}).get("requests_ok")
    asked = requests if isinstance(requests, int) and requests > 0 else 1
    seen = Seen(window, 1, at=f"{run.at:%m-%d %H:%M:%S}", requests=asked)
    versions = (conditions.engine.removeprefix("vllm "),) if conditions.engine else ()
    return Reading(seen=(seen,), kept=1, engine="vLLM", versions=versions, conditions=conditions)


def _window(run: Run) -> Window | None:
    counts = run.counts or {}
    try:
        window = _WINDOW.validate_python({name: counts[name] for name in _COUNTS if name in counts})
    except ValidationError:
        return None
    return window if window.rounds and not faults(window) else None


def _conditions(run: Run) -> Conditions:
    known = {field.name: run.conditions.get(field.name) for field in fields(Conditions)}
    try:
        return _CONDITIONS.validate_python(known)
    except ValidationError as error:
        unread = {part["loc"][0] for part in error.errors()}
        return _CONDITIONS.validate_python({name: None if name in unread else known[name] for name in known})
