"""The last hours of a log: windows whose time is after a moment, or not longer ago than a span."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from inventory.errors import UsageError
from roles.acceptance.reading import Reading
from roles.acceptance.series import Seen

_SPAN = re.compile(r"(\d{1,6})\s*(s|min|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days"}
_LEAP_YEAR = 2024  # the engine prints no year: any 29 February must be a date


def since(reading: Reading, moment: str) -> Reading:
    """Only the windows since `moment`: "2h" and "1d" count from the log's last window, "05-09 12:00" is on its clock.

    Raises UsageError for a moment that is neither.
    """
    timed = [(one, at) for one in reading.seen if (at := _time(one)) is not None]
    if not timed:
        _threshold(moment, datetime(_LEAP_YEAR, 1, 1))
        return reading
    begin = _threshold(moment, timed[-1][1])
    kept = _from(timed, begin)
    why = None if kept else f"no window since {moment}"
    return replace(reading, seen=tuple(kept), kept=len(kept), why_nothing=why or reading.why_nothing)


def _from(timed: Sequence[tuple[Seen, datetime]], begin: datetime) -> list[Seen]:
    """The last run of windows that are not before `begin`: the log may be of several years."""
    kept: list[Seen] = []
    for one, at in reversed(timed):
        if at < begin:
            break
        kept.append(one)
    return kept[::-1]


def _threshold(moment: str, last: datetime) -> datetime:
    if span := _SPAN.fullmatch(moment.strip()):
        return last - timedelta(**{_UNITS[span[2]]: int(span[1])})
    for form in ("%m-%d %H:%M:%S", "%m-%d %H:%M", "%m-%d"):
        try:
            return datetime.strptime(f"{_LEAP_YEAR}-{moment.strip()}", f"%Y-{form}")
        except ValueError:
            continue
    raise UsageError(f"--since wants a span or a time, not {moment!r}", tries=["--since 2h", '--since "05-09 12:00"'])


def _time(one: Seen) -> datetime | None:
    text = (one.at or "")[-14:]
    try:
        return datetime.strptime(f"{_LEAP_YEAR}-{text}", "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None
