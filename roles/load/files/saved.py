"""What `invoke bench --save FILE.json` and `--json` wrote, as runs."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from roles.load.files.fields import Source
from roles.load.history import Run
from roles.load.values import at, number, row, text

_COUNTS = ("rounds", "accepted", "drafted", "per_position", "k")


def recognise(document: Mapping[str, object]) -> bool:
    """Whether it is one: a run, or the answers of a verb with runs in them."""
    return bool(_documents(document))


def runs(document: Mapping[str, object], source: Source) -> Iterator[Run]:
    """The runs in it, in order."""
    for one in _documents(document):
        acceptance = at(one, "acceptance")
        yield Run(
            kind="bench",
            host=text(one, "host") or source.host,
            release=text(one, "release") or source.name,
            at=_when(one.get("at")) or source.at,
            conditions=_mapping(one.get("conditions")),
            summary={
                **_mapping(one.get("summary")),
                "requests": [dict(each) for each in row(one, "requests") if isinstance(each, Mapping)],
                "engine": _mapping(one.get("engine")),
            },
            counts={name: at(acceptance, name) for name in _COUNTS} if number(acceptance, "rounds") else None,
            doubts=tuple(dict(each) for each in row(one, "doubts") if isinstance(each, Mapping)),
        )


def _documents(document: Mapping[str, object]) -> list[Mapping[str, object]]:
    """One of each run, with its host: a document may hold several hosts, and a host a sweep."""
    found: list[Mapping[str, object]] = []
    for answer in row(document, "hosts") or [document]:
        found += [
            {"host": at(answer, "host"), **one}
            for one in (row(answer, "runs") or [answer])
            if isinstance(one, Mapping)
            and text(one, "release") is not None
            and isinstance(at(one, "conditions"), Mapping)
            and isinstance(at(one, "summary"), Mapping)
        ]
    return found


def _mapping(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, Mapping) else {}


def _when(said: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(said))
    except ValueError:
        return None
    return found if found.tzinfo else None
