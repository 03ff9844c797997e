"""Measurements of the controller's history as evidence: a gate prompt by prompt, a bench as one window."""

import json
import re
from dataclasses import fields, replace

from pydantic import TypeAdapter, ValidationError

from inventory.errors import SpecrailError
from playbooks.evidence import from_baseline
from roles.acceptance.baseline import from_json
from roles.acceptance.reading import Reading
from roles.acceptance.series import Seen
from roles.acceptance.window import Window, faults
from roles.conditions import Conditions
from roles.load.history import History, Run
from roles.load.named import named

_NAMED = re.compile(r"#?\d{1,18}|last(-\d{1,3})?")
_CONDITIONS = TypeAdapter(Conditions)
_WINDOW = TypeAdapter(Window)
_COUNTS = ("rounds", "accepted", "drafted", "per_position", "k")


def is_named(word: str) -> bool:
    """Whether a word can only mean a measurement: its number in `invoke history`, or the latest bench."""
    return _NAMED.fullmatch(word) is not None


def find(history: History, word: str, host: str | None) -> tuple[str, Reading]:
    """What a measurement is called, and its evidence. Raises UsageError for one that is not there.

    word: 12 or #12, whatever the host; last, last-1 ...: the latest bench of `host` (None: of any) and those before it
    """
    (run,) = named(word, history, host)
    return f"{run.kind} {run.id} of {run.host} ({run.at:%Y-%m-%d %H:%M})", reading(run)


def reading(run: Run) -> Reading:
    """A run's evidence; why_nothing says why there is none."""
    if (measured := (run.summary or {}).get("baseline")) is not None:
        try:
            return from_baseline(from_json(json.dumps(measured)))
        except SpecrailError as error:
            return Reading(engine="vLLM", why_nothing=error.what)
    window, conditions = _window(run), _conditions(run)
    found = Reading(engine="vLLM", conditions=conditions, speeds=_speeds(run))
    if window is None:
        return replace(found, why_nothing="it ran without speculation, or counted no round")
    seen = Seen(window, 1, at=f"{run.at:%m-%d %H:%M:%S}", requests=_requests(run) or 1)
    versions = (conditions.engine.removeprefix("vllm "),) if conditions.engine else ()
    return replace(found, seen=(seen,), kept=1, versions=versions)


def _speeds(run: Run) -> dict[int, tuple[float, int]]:
    """Tokens a second of all requests at the run's concurrency."""
    concurrency, speed = run.conditions.get("concurrency"), (run.summary or {}).get("total_tok_s")
    if not isinstance(concurrency, int) or not isinstance(speed, int | float) or speed <= 0:
        return {}
    return {concurrency: (float(speed), _requests(run))}


def _requests(run: Run) -> int:
    count = (run.summary or {}).get("requests_ok")
    return count if isinstance(count, int) and count > 0 else 0


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
