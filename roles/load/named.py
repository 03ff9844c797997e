"""Which runs a person means: by number in the history, "last", a release, or a file."""

import json
import re
from pathlib import Path

from inventory.errors import UsageError
from roles.load.files.read import read_results
from roles.load.history import History, Run
from roles.load.values import text, whole

_ELSEWHERE = "elsewhere"
_MOST = 1000
_LAST = re.compile(r"last(?:-(\d{1,3}))?")
_NUMBER = re.compile(r"#?(\d{1,18})")
_FILE = re.compile(r"(.+?)(?:#(\d{1,6}))?", re.DOTALL)


def named(word: str, history: History, host: str | None = None) -> tuple[Run, ...]:
    """The runs that a word names.

    word: a number of `invoke history` (12 or #12); last, last-1 ...: the latest bench and those before it; a release's
          id: its latest bench, or else its gate; a file of results, FILE#2 for the second one in it, else all
    host: whose runs "last" and a release are, and where a file's were measured; None for any host

    Raises UsageError for what is not there.
    """
    if found := _NUMBER.fullmatch(word):
        return (_numbered(int(found[1]), history),)
    if found := _LAST.fullmatch(word):
        return (_latest(int(found[1] or 0), history, host),)
    path, place = _file(word)
    if _is_file(path) or path.suffix in {".json", ".jsonl"}:
        return _in_file(path, place, host or _ELSEWHERE)
    return (_of_release(word, history, host),)


def keep(runs: tuple[Run, ...], history: History) -> tuple[tuple[Run, ...], int]:
    """Put runs of files into the history; those that are there already, measured or imported, are not put in again.

    Gives them as the history has them, and how many are new. One that could not be kept comes back as it was.
    """
    known = history.list(limit=_MOST)
    there = {_source(run): run for run in known if _source(run) is not None}
    measured = {_measurement(run): run for run in known}
    kept, new = [], 0
    for run in runs:
        before = run if run.id is not None else there.get(_source(run)) or measured.get(_measurement(run))
        kept.append(before or history.add(run) or run)
        new += before is None
    return tuple(kept), new


def _numbered(number: int, history: History) -> Run:
    run = history.get(number)
    if run is None:
        raise UsageError(f"there is no run {number} in the history", tries=["invoke history --host NAME"])
    return run


def _latest(back: int, history: History, host: str | None) -> Run:
    found = history.list(host, "bench", limit=back + 1)
    if len(found) <= back:
        count = f"only {len(found)} in the history" if found else "none in the history"
        more = ["invoke history --all"] if found else []
        raise UsageError(
            f"last{f'-{back}' if back else ''}: no such bench, {count}", tries=[*more, "invoke bench --host NAME"]
        )
    return found[0]


def _of_release(release: str, history: History, host: str | None) -> Run:
    found = [run for run in history.list(host, limit=_MOST) if run.release == release]
    if not found:
        raise UsageError(
            f"{release!r} is no run of the history, no release in it, and no file",
            tries=["invoke history --host NAME", "invoke bench.compare 12 last FILE.json"],
        )
    return next((run for run in reversed(found) if run.kind == "bench"), found[-1])


def _file(word: str) -> tuple[Path, int | None]:
    found = _FILE.fullmatch(word)
    if found is None or _is_file(Path(word)):
        return Path(word), None
    return Path(found[1]), int(found[2]) if found[2] else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, or with what no name may have
        return False


def _in_file(path: Path, place: int | None, host: str) -> tuple[Run, ...]:
    runs = read_results(path, host)
    if place is None:
        return runs
    if not 0 < place <= len(runs):
        raise UsageError(f"{path}#{place}: the file holds {len(runs)} result{'s' if len(runs) != 1 else ''}")
    return (runs[place - 1],)


def _source(run: Run) -> tuple[object, ...] | None:
    """What tells whether a run was read before: the file, the place in it, and what was told about it."""
    digest = text(run.summary, "source", "sha256")
    if digest is None:
        return None
    return digest, whole(run.summary, "source", "place"), run.host, json.dumps(dict(run.conditions), sort_keys=True)


def _measurement(run: Run) -> tuple[object, ...]:
    """What tells whether two are one measurement: a saved file's time is in whole seconds, its numbers are exact."""
    numbers = [(run.summary or {}).get(name) for name in ("total_tok_s", "ttft_s")]
    told = json.dumps([dict(run.conditions), numbers], sort_keys=True, default=str)
    return run.kind, run.host, run.release, int(run.at.timestamp()), told
