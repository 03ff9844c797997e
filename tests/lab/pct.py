"""What the node's stand-in `pct` does: Proxmox's words, status 255 for every refusal, as root@pam."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fakepve.model import PveError

from tests.lab.box import Box
from tests.lab.layout import NODE
from tests.lab.node_api import NodeApi

_USAGE = "USAGE: pct <COMMAND> [ARGS] [OPTIONS]\n       pct config|exec|list|pull|push|reboot|set|shutdown|start|status|stop|unlock\n"
_POWER = ("start", "stop", "shutdown", "reboot")


class RefusedError(Exception):
    """Ends the command with a message on standard error and status 255."""


class Pct:
    """The command line of pct. `boxes` finds the sandbox of a container that exists."""

    def __init__(self, api: NodeApi, boxes: Callable[[int], Box | None]) -> None:
        self._api = api
        self._box = boxes

    async def run(self, argv: list[str]) -> dict[str, Any]:
        """{"status", "stdout", "stderr"}, or {"become": {"argv", "cwd", "environment"}} for exec."""
        try:
            if argv[:1] == ["exec"]:
                return {"become": self._exec(argv[1:])}
            return {"status": 0, "stdout": await self._dispatch(argv), "stderr": ""}
        except RefusedError as refusal:
            return {"status": 255, "stdout": "", "stderr": f"{refusal}\n"}
        except PveError as error:
            details = "".join(f"{key}: {text.rstrip()}\n" for key, text in sorted((error.errors or {}).items()))
            head = f"400 {error.message}" if error.errors else error.message
            usage = f"pct {argv[0]} <vmid> [OPTIONS]\n" if error.errors else ""
            return {"status": 255, "stdout": "", "stderr": f"{head}\n{details}{usage}"}

    async def _dispatch(self, argv: list[str]) -> str:
        match argv:
            case ["list"]:
                return self._list()
            case ["status", ctid]:
                status = await self._api.as_root("GET", f"{_path(ctid)}/status/current", {})
                return f"status: {status['status']}\n"
            case ["config", ctid, *options]:
                values = _options(options)
                config = await self._api.as_root("GET", f"{_path(ctid)}/config", {"current": "1", **values})
                return "".join(f"{key}: {value}\n" for key, value in sorted(config.items()) if key != "digest")
            case ["set", ctid, *options]:
                await self._api.as_root("PUT", f"{_path(ctid)}/config", _options(options))
                return ""
            case ["unlock", ctid]:
                self._exists(ctid)
                self._api.unlock(int(ctid))
                return ""
            case [verb, ctid, *options] if verb in _POWER:
                return await self._task("POST", f"{_path(ctid)}/status/{verb}", _options(options))
            case ["destroy", ctid, *options]:
                return await self._task("DELETE", _path(ctid), _options(options))
            case ["push", ctid, source, target, *options]:
                return self._push(ctid, Path(source), target, _options(options))
            case ["pull", ctid, source, target, *_]:
                shutil.copyfile(self._place(ctid, source), target)
                return ""
            case _:
                raise RefusedError(f"ERROR: unknown command 'pct {' '.join(argv[:1])}'\n{_USAGE}".rstrip())

    async def _task(self, method: str, path: str, values: dict[str, str]) -> str:
        upid = await self._api.as_root(method, path, values)
        task = self._api.tasks[upid]
        while task["status"] == "running":
            await asyncio.sleep(0.01)
        if task["exitstatus"] != "OK":
            raise RefusedError(task["exitstatus"])
        return ""

    def _list(self) -> str:
        rows = [f"{'VMID':<10} {'Status':<10} {'Lock':<12} {'Name':<20}"]
        rows += [
            f"{ct.vmid:<10} {ct.status:<10} {ct.lock or '':<12} {ct.name:<20}"
            for ct in sorted(self._api.cts, key=lambda ct: int(ct.vmid))
        ]
        return "".join(f"{row.rstrip()}\n" for row in rows) if len(rows) > 1 else ""

    def _exists(self, ctid: str) -> Any:
        ct = self._api.ct(int(ctid)) if ctid.isdigit() else None
        if ct is None:
            raise RefusedError(f"Configuration file 'nodes/{NODE}/lxc/{ctid}.conf' does not exist")
        return ct

    def _running(self, ctid: str) -> Box:
        box = self._box(int(ctid)) if self._exists(ctid).status == "running" else None
        if box is None:
            raise RefusedError(f"container '{ctid}' not running!")
        return box

    def _exec(self, words: list[str]) -> dict[str, Any]:
        if not words:
            raise RefusedError("400 not enough arguments\npct exec <vmid> [<extra-args>] [OPTIONS]")
        ctid, *argv = words
        argv = argv[1:] if argv[:1] == ["--"] else argv
        if not argv:
            raise RefusedError("missing command")
        box = self._running(ctid)
        return box.become(argv)

    def _place(self, ctid: str, path: str) -> Path:
        return self._running(ctid).place(path)

    def _push(self, ctid: str, source: Path, target: str, options: dict[str, str]) -> str:
        place = self._place(ctid, target)
        if not source.is_file():
            raise RefusedError(f"failed to open {source} for reading: No such file or directory")
        if not place.parent.is_dir():
            raise RefusedError(f"failed to create file {target}: No such file or directory")
        shutil.copyfile(source, place)
        place.chmod(int(options.get("perms", "0644"), 8))
        owner = self._running(ctid).root_uid
        os.chown(place, owner, owner)
        return ""


def _path(ctid: str) -> str:
    if not ctid.isdigit():
        raise PveError(
            400, "Parameter verification failed.", {"vmid": "invalid format - value does not look like a valid VM ID"}
        )
    return f"/nodes/{NODE}/lxc/{ctid}"


def _options(words: list[str]) -> dict[str, str]:
    """--key value, -key value, --key=value; a flag without a value is 1."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            raise RefusedError(f"400 too many arguments\n{_USAGE}".rstrip())
        key, equals, value = word.lstrip("-").partition("=")
        if not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("-") else "1"
        found[key] = value
    return found
