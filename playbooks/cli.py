"""What every verb does around its playbook: find the hosts, speak, and turn what happened into an exit code."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console, RenderableType

from inventory.errors import SpecrailError
from inventory.load import Inventory, find, load
from playbooks.endings import exit_code
from playbooks.outcome import Outcome
from playbooks.site import Site
from playbooks.talk import Talk

CHECKOUT = Path(__file__).resolve().parents[1]


def run_verb(
    verb: str,
    action: Callable[[Site], Outcome],
    *,
    hosts: Sequence[str],
    inventory: str | None,
    as_json: bool,
    stop_at_failure: bool = True,
    document: Callable[[list[dict[str, object]]], dict[str, object]] | None = None,
) -> int:
    """Do `action` for each host, one after the other. Returns the exit code.

    stdout gets the answers (or one JSON document), stderr the talk. A failure ends the row unless stop_at_failure is
    false, an interruption always, and those whose turn did not come are named; the exit code is that of the first host
    that failed. `document` makes another document than the usual one of the hosts' answers.
    """
    out, err = plain_console(sys.stdout), plain_console(sys.stderr)
    answers: list[dict[str, object]] = []
    code = 0
    try:
        wanted = open_inventory(inventory, err)
        selected = wanted.select(hosts)
    except SpecrailError as error:
        return report(error, err, as_json=as_json, verb=verb)
    for begun, resolved in enumerate(selected, 1):
        with Site(resolved, verb=verb, checkout=CHECKOUT, talk_to=err) as site:
            try:
                outcome = action(site)
            except SpecrailError as error:
                site.redactor.error(error.at(f"{verb} {resolved.name}"))
                _say(err, str(error))
                answers.append({"host": resolved.name, **error.as_json()})
                code = code or int(error.exit_code)
            except KeyboardInterrupt:
                told = SpecrailError(
                    f"interrupted; {site.if_interrupted}",
                    where=[f"{verb} {resolved.name}"],
                    tries=site.tries_if_interrupted,
                )
                _say(err, str(told))
                code = exit_code()
                answers.append({"host": resolved.name, **told.as_json(), "error": "Interrupted", "exit_code": code})
                stop_at_failure = True
            else:
                answers.append({"host": resolved.name, **outcome.as_json(), "exit_code": int(outcome.exit_code)})
                if not as_json:
                    _answer(out, outcome.render())
                code = code or int(outcome.exit_code)
        if code and stop_at_failure:
            answers += [_not_begun(f"{verb} {later.name}", later.name, err) for later in selected[begun:]]
            break
    if as_json:
        print_json(document(answers) if document else {"verb": verb, "exit_code": code, "hosts": answers})
    return code


def open_inventory(explicit: str | None, err: Console) -> Inventory:
    """Find and read the inventory; says so when it is the practice ground's."""
    found = find(explicit, CHECKOUT)
    if found.is_lab:
        Talk(err).note(f"practice ground: {_short(found.path)} (there is no inventory/hosts.yml of your own)")
    return load(found.path)


def report(error: SpecrailError, err: Console, *, as_json: bool, verb: str) -> int:
    """Print an error that belongs to no host; returns its exit code."""
    _say(err, str(error.at(verb)))
    if as_json:
        print_json({"verb": verb, "hosts": [], **error.as_json()})
    return int(error.exit_code)


def print_json(document: dict[str, object]) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(document, indent=2, default=str) + "\n")


def _not_begun(where: str, host: str, err: Console) -> dict[str, object]:
    told = SpecrailError("not begun: an earlier host's end was the row's end", where=[where])
    _say(err, str(told))
    return {"host": host, **told.as_json(), "error": "NotBegun", "exit_code": None}


def _answer(out: Console, rendered: RenderableType) -> None:
    if isinstance(rendered, str):
        out.print(rendered, markup=False, highlight=False, soft_wrap=True)
    else:
        out.print(rendered)


def _say(err: Console, text: str) -> None:
    err.print(text, markup=False, highlight=False, soft_wrap=True)


def plain_console(stream: TextIO) -> Console:
    """A console that writes to a stream, and to a pipe without colours or a terminal's width."""
    # A pipe gets plain text of a fixed width, so that what is recorded does not depend on a terminal.
    terminal = stream.isatty()
    return Console(file=stream, width=None if terminal else int(os.environ.get("COLUMNS", "120")))


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
