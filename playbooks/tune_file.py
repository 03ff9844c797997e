"""invoke tune --from FILE: the arithmetic alone, on points that were measured somewhere."""

import sys
from collections.abc import Mapping
from pathlib import Path

from inventory.errors import SpecrailError, UsageError
from inventory.shell import command
from playbooks.cli import plain_console, print_json, report
from roles.tune.answer import Answer, answer
from roles.tune.points import read_points
from roles.tune.table import tune_table


def from_file(path: str, *, as_json: bool, beside: Mapping[str, object] | None = None) -> int:
    """Tune from points in a file; touches no host. Returns the exit code.

    beside: flags that say how to measure a host, and their values: none may be given
    """
    try:
        _alone(path, beside or {})
        found = _answer(Path(path))
    except SpecrailError as error:
        return report(error, plain_console(sys.stderr), as_json=as_json, verb="tune")
    if as_json:
        print_json({"verb": "tune", "exit_code": 0, **found.as_json()})
    else:
        plain_console(sys.stdout).print(tune_table(found, title=f"tune · {path}"))
    return 0


def _alone(path: str, beside: Mapping[str, object]) -> None:
    if given := [f"--{name}" for name, value in beside.items() if value]:
        raise UsageError(
            f"--from and {given[0]} do not go together: points of a file are only calculated with, no host is asked",
            tries=[command("invoke", "tune", "--from", path), "invoke tune --host NAME"],
        )


def _answer(path: Path) -> Answer:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"--from: {path}: {error.strerror}", tries=["invoke tune --from points.json", "invoke tune --host NAME"]
        ) from error
    return answer(read_points(content, str(path)))
