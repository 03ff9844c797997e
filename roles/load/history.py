"""What was measured before, in one SQLite file on the controller that may be lost at any time."""

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import TypeAdapter

Kind = Literal["bench", "gate"]

SCHEMA = 1
_WAIT_S = 5.0

_TABLE = """
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL, -- bench or gate
    host TEXT NOT NULL,
    release TEXT NOT NULL,
    at TEXT NOT NULL, -- UTC, ISO 8601
    verdict TEXT,
    conditions TEXT NOT NULL,
    summary TEXT,
    counts TEXT,
    doubts TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS runs_by_host ON runs (host, kind, at);
"""

_ADD = """
INSERT INTO runs (kind, host, release, at, verdict, conditions, summary, counts, doubts)
VALUES (:kind, :host, :release, :at, :verdict, :conditions, :summary, :counts, :doubts)
"""
_FIND = """
SELECT * FROM runs
WHERE host = coalesce(:host, host) AND kind = coalesce(:kind, kind) AND (:before IS NULL OR at < :before)
ORDER BY at DESC, id DESC LIMIT :limit
"""
_JSON_COLUMNS = ("conditions", "summary", "counts", "doubts")
_Got = TypeVar("_Got")


@dataclass(frozen=True)
class Run:
    """One measurement of one release on one host.

    at:         when it was measured, with a time zone
    conditions: what its numbers depend on ("k", "prompts", "engine" ...); None or left out is unknown
    summary:    roles.load.summary.Summary as JSON; of a gate "start_s", how long the server took to start
    counts:     of the pooled window: "rounds", "accepted", "drafted", "per_position", "k"; None without speculation
    verdict:    of a gate: "pass", "fail" or "inconclusive"
    doubts:     roles.load.warnings.Doubt as JSON
    id:         given by the history
    """

    kind: Kind
    host: str
    release: str
    at: datetime
    conditions: Mapping[str, object]
    summary: Mapping[str, object] | None = None
    counts: Mapping[str, object] | None = None
    verdict: str | None = None
    doubts: tuple[Mapping[str, object], ...] = ()
    id: int | None = None


_RUN = TypeAdapter(Run)


def to_stderr(warning: str) -> None:
    """Say it to the person at the terminal."""
    sys.stderr.write(f"warning: {warning}\n")


class History:
    """Runs, newest last. Nothing that is wrong with the file stops a caller: it is said through `warn`, and goes on.

    A corrupt file is moved aside and a new one begun; one that is locked, not writable or of a later version is left
    alone: then `add` gives back None and reading finds nothing. The file is opened for each call, so that it can be
    deleted, copied or replaced between any two.
    """

    def __init__(self, path: Path, *, warn: Callable[[str], None] = to_stderr, wait_s: float = _WAIT_S) -> None:
        self.path = path
        self._warn = warn
        self._wait_s = wait_s

    def add(self, run: Run) -> Run | None:
        """Keep a run. Gives it back with its id; None when it could not be kept."""
        values = vars(run)
        texts = {name: json.dumps(values[name], default=dict) for name in _JSON_COLUMNS if values[name] is not None}
        row = {**values, **texts, "at": _timestamp(run.at)}

        def insert(connection: sqlite3.Connection) -> Run:
            return replace(run, id=connection.execute(_ADD, row).lastrowid)

        return self._do("the result is not kept", insert)

    def get(self, number: int) -> Run | None:
        """The run with this id, of any host; None where there is none."""
        if not 0 < number < 2**63:  # what SQLite can number
            return None
        found = self._select("SELECT * FROM runs WHERE id = :id", {"id": number})
        return found[0] if found else None

    def last(self, host: str, kind: Kind, before: datetime | None = None) -> Run | None:
        """The latest run of a host, or the latest one that is older than `before`."""
        found = self._find(host, kind, before, 1)
        return found[0] if found else None

    def list(self, host: str | None = None, kind: Kind | None = None, limit: int = 50) -> tuple[Run, ...]:
        """The latest `limit` runs, the oldest of them first."""
        return self._find(host, kind, None, limit)[::-1]

    def _find(self, host: str | None, kind: Kind | None, before: datetime | None, limit: int) -> tuple[Run, ...]:
        return self._select(
            _FIND, {"host": host, "kind": kind, "before": before and _timestamp(before), "limit": limit}
        )

    def _select(self, query: str, values: Mapping[str, object]) -> tuple[Run, ...]:
        def select(connection: sqlite3.Connection) -> tuple[Run, ...]:
            rows = connection.execute(query, values)
            return tuple(run for row in rows if (run := self._read(row)) is not None)

        with suppress(OSError):  # opening it says better what is wrong
            if not self.path.exists():
                return ()
        return self._do("earlier results are not known", select) or ()

    def _read(self, row: sqlite3.Row) -> Run | None:
        try:
            parsed = {name: json.loads(row[name]) for name in _JSON_COLUMNS if row[name] is not None}
            return _RUN.validate_python({**dict(row), **parsed})
        except (ValueError, TypeError, RecursionError):
            self._warn(f"{self.path}: run {row['id']} cannot be read, it is passed over")
            return None

    def _do(self, consequence: str, operation: Callable[[sqlite3.Connection], _Got]) -> _Got | None:
        try:
            for attempt in range(3):
                try:
                    with self._connection() as connection:
                        return operation(connection)
                except sqlite3.DatabaseError as error:
                    # Twice corrupt is corrupt: after the first time another process may have put a new file there.
                    if attempt == 2 or not _is_corrupt(error):
                        raise
                    if attempt == 1:
                        self._move_aside(error)
        except _LaterSchemaError as error:
            self._warn(f"{self.path} is of schema {error}, this specrail writes {SCHEMA}: {consequence}")
        except (sqlite3.Error, OSError) as error:
            self._warn(f"{self.path}: {error}: {consequence}")
        return None

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=self._wait_s)) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode = WAL")
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
            if schema > SCHEMA:
                raise _LaterSchemaError(schema)
            if schema < SCHEMA:
                connection.executescript(f"{_TABLE} PRAGMA user_version = {SCHEMA};")
            with connection:
                yield connection

    def _move_aside(self, error: sqlite3.Error) -> None:
        aside = self.path.with_name(f"{self.path.name}.corrupt-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                Path(f"{self.path}{suffix}").rename(f"{aside}{suffix}")
        self._warn(f"{self.path}: {error}: it is now {aside.name}, a new history begins")


class _LaterSchemaError(Exception):
    pass


def _is_corrupt(error: sqlite3.Error) -> bool:
    # Errors of Python's own module (a closed connection) have no code.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def _timestamp(at: datetime) -> str:
    if at.tzinfo is None:
        raise ValueError("a time without a time zone")
    return at.astimezone(UTC).isoformat(timespec="microseconds")
