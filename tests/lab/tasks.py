"""The practice ground for people: `invoke lab.up`, `lab.down`, `lab.reset`, `lab.status`, `lab.fault`."""

import json as json_module
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from invoke.collection import Collection
from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task

from inventory.errors import SpecrailError, UsageError
from tests.lab.ground import CHECKOUT, Kind, Lab

FOLDER = ".lab"
_COMMON = {"folder": f"where the lab is (default: {FOLDER} in the checkout)", "json": "print facts as JSON on stdout"}


@task(
    help={**_COMMON, "containers": "sandbox (default), or lxc: real ones, with systemd (root on Linux)"},
    auto_shortflags=False,
)
def up(_: Context, containers: str = "sandbox", folder: str | None = None, json: bool = False) -> None:
    """Start a practice ground that stays until lab.down.

    It is a Proxmox node with its API, GPUs and containers, and a git repository with pull requests of the engine.

    Examples:
      invoke lab.up
      invoke lab.up --containers lxc
    """
    with _answering(json):
        lab = _lab(folder, _kind(containers))
        lab.up()
        _show(lab, json, f"The practice ground is up.\n  next: invoke deploy --host ct129{_inventory_option(lab)}")


@task(help=_COMMON, auto_shortflags=False)
def down(_: Context, folder: str | None = None, json: bool = False) -> None:
    """Stop the practice ground; only its logs stay.

    It also cleans up after one that was killed.

    Example: invoke lab.down
    """
    with _answering(json):
        lab = _lab(folder)
        lab.down()
        _print({"up": False, "folder": str(lab.layout.folder)}, json, "The practice ground is down.")


@task(help=_COMMON, auto_shortflags=False)
def reset(_: Context, folder: str | None = None, json: bool = False) -> None:
    """Make the practice ground as new: no containers, no faults.

    Example: invoke lab.reset
    """
    with _answering(json):
        lab = _lab(folder)
        lab.reset()
        _show(lab, json, "The practice ground is as new.")


@task(help=_COMMON, auto_shortflags=False)
def status(_: Context, folder: str | None = None, json: bool = False) -> None:
    """Show its API, node, containers, faults, and what came in.

    Example: invoke lab.status --json
    """
    with _answering(json):
        _show(_lab(folder), json)


@task(
    auto_shortflags=False,
    iterable=["set"],
    help={
        **_COMMON,
        "name": "which fault; without it they are listed",
        "off": "switch it off again",
        "ctid": "the container that is meant",
        "set": "another argument, NAME=VALUE; may be given several times",
    },
)
def fault(
    _: Context,
    set: list[str],  # noqa: A002 - the flag's name
    name: str = "",
    off: bool = False,
    ctid: str = "",
    folder: str | None = None,
    json: bool = False,
) -> None:
    """Break something, or list what can be broken.

    Examples:
      invoke lab.fault
      invoke lab.fault --name ssh-frozen --ctid 129
      invoke lab.fault --name api-slow --set seconds=5
      invoke lab.fault --name ssh-frozen --ctid 129 --off
    """
    with _answering(json):
        if not name:
            _list_faults(json)
            return
        arguments: dict[str, Any] = dict(map(_argument, set))
        if ctid:
            arguments["ctid"] = _ctid(ctid)
        lab = _lab(folder)
        lab.fault(name, not off, **arguments)
        _show(lab, json, f"{name} is {'off' if off else 'on'}.")


lab = Collection("lab", up, down, reset, status, fault)


def _list_faults(json: bool) -> None:
    from tests.lab.faults import Faults  # not above: it brings the whole node with it

    catalogue = Faults.catalogue()
    _print({"faults": catalogue}, json, "\n".join(f"{name:<16}{text}" for name, text in catalogue.items()))


def _argument(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set {text}: NAME=VALUE is wanted", where=("lab", "fault"), tries=("invoke lab.fault",))
    try:
        return name, json_module.loads(value)
    except ValueError:
        return name, value


def _ctid(text: str) -> int:
    if not text.isdigit():
        raise UsageError(
            f"--ctid {text}: a container's number is wanted", where=("lab", "fault"), tries=("--ctid 129",)
        )
    return int(text)


def _lab(folder: str | None, containers: Kind = "sandbox") -> Lab:
    return Lab(Path(folder) if folder else CHECKOUT / FOLDER, containers)


def _kind(text: str) -> Kind:
    if text not in get_args(Kind):
        raise UsageError(f"--containers is {' or '.join(get_args(Kind))}, not {text!r}", where=("lab", "up"))
    return "lxc" if text == "lxc" else "sandbox"


def _inventory_option(lab: Lab) -> str:
    return "" if lab.layout.folder == CHECKOUT / FOLDER else f" --inventory {lab.inventory}"


def _show(lab: Lab, json: bool, headline: str | None = None) -> None:
    facts = {"up": True, **lab.status(), "traffic": vars(lab.traffic())}
    api, node = facts["api"], facts["node"]
    lines = [headline] if headline else []
    lines += [
        f"  inventory   {facts['inventory']}",
        f"  API         {api['url']}  {'up' if api['up'] else 'down'}{'' if api['quorate'] else ', no quorum'}",
        f"  {node['name']:<11} ssh -p {node['ssh_port']} -i {lab.layout.login_key} root@127.0.0.1  {node['ssh']}",
    ]
    for name, box in facts["containers"].items():
        lock = f", locked ({box['lock']})" if box["lock"] else ""
        lines.append(
            f"  {name:<11} {box['status']}{lock}; ssh {box['address']}:{box['ssh_port']} {box['ssh']}; server port {box['server_port']};"
            f" {box['processes']} processes"
        )
    lines.append(f"  faults      {', '.join(facts['faults']) or 'none'}")
    _print(facts, json, "\n".join(lines))


def _print(facts: dict[str, Any], json: bool, text: str) -> None:
    sys.stdout.write((json_module.dumps(facts, indent=2) if json else text) + "\n")


@contextmanager
def _answering(json: bool) -> Iterator[None]:
    """Errors as people and programs want them, without a traceback."""
    try:
        yield
    except SpecrailError as error:
        if json:
            sys.stdout.write(json_module.dumps(error.as_json(), indent=2) + "\n")
        raise Exit(str(error), code=int(error.exit_code)) from None
    except KeyboardInterrupt:
        raise Exit("interrupted", code=130) from None
