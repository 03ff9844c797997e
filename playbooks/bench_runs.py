"""Measures at each load that was asked for, and writes the files that were: whatever server it is about."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from inventory.errors import UsageError
from playbooks.bench_outcome import BenchOutcome, SweepOutcome
from playbooks.bench_work import Options, loads
from playbooks.talk import Talk
from roles.load.history import History, Run
from roles.load.named import keep, named
from roles.load.report import as_csv, report

_FORMATS = (".json", ".csv")


def at_each_load(
    options: Options, measure: Callable[[Options], BenchOutcome], talk: Talk, *, whose: str
) -> BenchOutcome | SweepOutcome:
    """Measure at one load or at several, and write what was asked for. Raises UsageError before anything is sent."""
    if options.save is not None and not options.save.endswith(_FORMATS):
        raise UsageError(f"--save writes .json or .csv, not {options.save!r}")
    for flag, path in (("--save", options.save), ("--html", options.html)):
        if path is not None:
            _can_be_written(flag, Path(path))
    wanted = loads(options)
    if len(wanted) == 1:
        outcome = measure(wanted[0])
        _write(talk, whose, options, (outcome,))
        return outcome
    outcomes = []
    for load in wanted:
        talk.headline(f"{load.rate} requests/s" if load.rate else f"concurrency {load.concurrency}")
        outcomes.append(measure(replace(load, against="none")))
    _write(talk, whose, options, tuple(outcomes))
    return SweepOutcome(tuple(outcomes))


def earlier(history: History, against: str, host: str) -> Run | None:
    """The run that --against means; None for "none", and for "last" where there is none yet. Raises UsageError."""
    if against == "none" or (against == "last" and history.last(host, "bench") is None):
        return None
    found = named(against, history, host)
    if len(found) > 1:
        raise UsageError(f"--against {against} holds {len(found)} results", tries=[f"--against '{against}#1'"])
    return keep(found, history)[0][0]


def _can_be_written(flag: str, path: Path) -> None:
    """A measurement takes minutes: what its files lack is said before it. Raises UsageError."""
    if path.is_dir():
        why = "it is a folder"
    elif not path.parent.is_dir():
        why = f"there is no folder {path.parent}"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        why = "it may not be written"
    else:
        return
    raise UsageError(f"{flag} {path}: {why}; nothing was measured", tries=[f"{flag} {path.name or 'FILE'}"])


def _write(talk: Talk, whose: str, options: Options, outcomes: tuple[BenchOutcome, ...]) -> None:
    runs = [outcome.run for outcome in outcomes]
    before = outcomes[0].comparison.before if outcomes[0].comparison else None
    written = {}
    if options.save:
        documents = [
            {"host": outcome.run.host, **outcome.as_json(), "requests": _requests(outcome.run)} for outcome in outcomes
        ]
        written[options.save] = (
            as_csv(runs) if options.save.endswith(".csv") else json.dumps(documents, indent=2, default=str)
        )
    if options.html:
        written[options.html] = report([before, *runs] if before else runs, title=f"bench · {whose}")
    for path, text in written.items():
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}", why=["The result itself is in the history."]) from error
        talk.note(f"wrote {path}")


def _requests(run: Run) -> object:
    return (run.summary or {}).get("requests")
