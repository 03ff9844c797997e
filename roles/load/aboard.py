"""Sends the load client to the host for one run, and reads what it tells: nothing of it stays there."""

import ast
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter

from inventory.errors import ServerError
from inventory.shell import Shell, command
from roles.load.on_host import Asked, heard
from roles.load.result import LoadResult, Progress

_ROOT = Path(__file__).parents[2]
_PROGRAM = "roles.load.on_host"
_GRACE_S = 120  # for the way there, Python's start, and the requests that are in flight when the time is up
_BOOTSTRAP = f"""
import io, json, pathlib, sys, tempfile
text = sys.stdin.read()
with tempfile.TemporaryDirectory(prefix="specrail-load-") as folder:
    for name, source in json.loads(text)["modules"].items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    sys.stdin = io.StringIO(text)
    from {_PROGRAM} import main
    main()
"""


def load_from_host(
    shell: Shell, python: str, asked: Asked, on_progress: Callable[[Progress], None] | None = None
) -> LoadResult:
    """Make the load on the host itself. One exec request; the API key goes by stdin.

    python: the interpreter there, which must have aiohttp, numpy and pydantic
    Raises ServerError when it cannot run the client, and like Shell.run.
    """
    told: dict[str, list[object]] = {}

    def on_line(line: str) -> None:
        for kind, what in _message(line):
            if kind == "progress" and on_progress is not None:
                on_progress(TypeAdapter(Progress).validate_python(what))
            elif kind != "progress":
                told.setdefault(kind, []).append(what)

    message = {"modules": modules(_PROGRAM), "asked": asdict(asked)}
    ended = shell.run(
        command(python, "-I", "-c", _BOOTSTRAP),
        stdin=json.dumps(message).encode(),
        timeout_s=asked.deadline_s + _GRACE_S,
        on_line=on_line,
        check=False,
    )
    try:
        return heard(told)
    except ValueError:
        last = ended.stderr.strip().splitlines()[-1:] or [f"status {ended.exit_status}"]
        raise ServerError(
            f"the load client did not run on the host: {last[0]}",
            why=[f"It runs with {python}, and needs aiohttp, numpy and pydantic there."],
            tries=["--from controller"],
        ) from None


def modules(program: str) -> dict[str, str]:
    """The source of a module and of all that it imports from this checkout, by path; packages' own files included."""
    found: dict[str, str] = {}
    waiting = [program]
    while waiting:
        name = waiting.pop()
        for path in (Path(*name.split(".")).with_suffix(".py"), Path(*name.split("."), "__init__.py")):
            if str(path) in found or not (_ROOT / path).is_file():
                continue
            source = (_ROOT / path).read_text(encoding="utf-8")
            found[str(path)] = source
            waiting += _imports(source)
        parent = name.rpartition(".")[0]
        waiting += [parent] if parent else []
    return found


def _imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _message(line: str) -> Iterator[tuple[str, object]]:
    try:
        message = json.loads(line)
    except ValueError:
        return
    if isinstance(message, dict):
        yield from message.items()
