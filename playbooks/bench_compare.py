"""invoke bench.compare and bench.import: measurements that exist, side by side or into the history. Touches no host."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import RenderableType

from inventory.errors import SpecrailError, UsageError
from playbooks.cli import CHECKOUT, plain_console, print_json, report
from playbooks.flags import conditions_told
from playbooks.site import history_in, state_folder
from roles.load.files.read import read_results
from roles.load.history import History, Run
from roles.load.named import keep, named
from roles.load.report import report as page
from roles.load.side_by_side import SideBySide, side_by_side
from roles.load.side_table import imported_table, side_table


def compare(words: Sequence[str], *, host: str | None, html: str | None, as_json: bool) -> int:
    """Put the named runs side by side. Returns the exit code."""
    verb = "bench.compare"
    try:
        found = _side_by_side(words, host)
        if html is not None:
            _write(html, page(found.runs, title=f"{len(found.runs)} runs side by side"))
    except SpecrailError as error:
        return report(error, plain_console(sys.stderr), as_json=as_json, verb=verb)
    _answer(verb, found.as_json(), side_table(found, title=f"{verb} · {len(found.runs)} runs"), as_json=as_json)
    return 0


def take_in(files: Sequence[str], *, host: str, conditions: Sequence[str], as_json: bool) -> int:
    """Put files' results into the history. conditions: NAME=VALUE that the files do not say. Returns the exit code."""
    verb = "bench.import"
    try:
        told = conditions_told(conditions)
        runs = tuple(_told(run, told) for file in files for run in read_results(Path(file), host))
        if not files:
            raise UsageError("no file is named", tries=[f"invoke {verb} result.json --host ct129"])
        kept, new = keep(runs, _history())
    except SpecrailError as error:
        return report(error, plain_console(sys.stderr), as_json=as_json, verb=verb)
    answer: dict[str, object] = {"new": new, "runs": [{"id": run.id, **_as_json(run)} for run in kept]}
    _answer(verb, answer, imported_table(kept, new), as_json=as_json)
    return 0


def _side_by_side(words: Sequence[str], host: str | None) -> SideBySide:
    history = _history()
    runs = [run for word in words for run in named(word, history, host)]
    if len(runs) < 2:
        raise UsageError(
            f"{len(runs)} run{'s' if len(runs) != 1 else ''} to compare: it takes two or more",
            tries=["invoke bench.compare last-1 last", "invoke bench.compare 12 result.json --html report.html"],
        )
    return side_by_side(runs)


def _history() -> History:
    return history_in(state_folder(CHECKOUT))


def _told(run: Run, told: dict[str, object]) -> Run:
    return replace(run, conditions={**run.conditions, **told}) if told else run


def _as_json(run: Run) -> dict[str, object]:
    return {
        "host": run.host,
        "release": run.release,
        "at": run.at.isoformat(timespec="seconds"),
        "conditions": dict(run.conditions),
    }


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--html {path}: {error.strerror}") from error


def _answer(verb: str, answer: dict[str, object], rendered: RenderableType, *, as_json: bool) -> None:
    if as_json:
        print_json({"verb": verb, "exit_code": 0, **answer})
    else:
        plain_console(sys.stdout).print(rendered)
