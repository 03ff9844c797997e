"""What the inventory says: resolved values, a schema for editors, and all that is wrong."""

import sys
from collections.abc import Sequence

from rich.console import Console

from inventory import schema as schemas
from inventory import show as showing
from inventory.errors import SpecrailError
from playbooks.cli import open_inventory, print_json, report


def show(hosts: Sequence[str], inventory: str | None, *, as_json: bool) -> int:
    """Print what each host comes to. Returns the exit code."""
    err = Console(stderr=True)
    try:
        selected = open_inventory(inventory, err).select(hosts)
    except SpecrailError as error:
        return report(error, err, as_json=as_json, verb="inventory.show")
    if as_json:
        print_json(
            {
                "verb": "inventory.show",
                "exit_code": 0,
                "hosts": [dict(showing.as_json(resolved)) for resolved in selected],
            }
        )
    for resolved in selected if not as_json else ():
        sys.stdout.write(f"# {resolved.name} on {resolved.node_name}\n{showing.as_yaml(resolved)}")
    return 0


def schema() -> None:
    """Print the JSON Schema of the inventory file."""
    print_json(dict(schemas.schema()))


def check(inventory: str | None, *, as_json: bool) -> int:
    """Read everything; returns the exit code."""
    err = Console(stderr=True)
    try:
        found = open_inventory(inventory, err)
    except SpecrailError as error:
        return report(error, err, as_json=as_json, verb="inventory.check")
    if as_json:
        print_json(
            {"verb": "inventory.check", "exit_code": 0, "hosts": sorted(found.hosts), "groups": sorted(found.groups)}
        )
    else:
        sys.stdout.write(
            f"{_count(len(found.hosts), 'host')}, {_count(len(found.groups), 'group')}: nothing is wrong\n"
        )
    return 0


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
