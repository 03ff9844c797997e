"""The lab's one process: `python -m tests.lab.daemon FOLDER [--while-open FD] [--lxc-root TAR]`."""

import argparse
import asyncio
import contextlib
import fcntl
import json
import logging
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import Any

from tests.lab import certificates, control, hosts, models, node, ports, processes, repository
from tests.lab.box import Box
from tests.lab.container import Sandbox
from tests.lab.faults import Faults
from tests.lab.gpus import Gpus
from tests.lab.layout import MODELS, NODE, Layout
from tests.lab.lxc import config as lxc_config
from tests.lab.lxc.bed import Bed, sweep
from tests.lab.lxc.container import LxcBox
from tests.lab.node_api import TOKEN, NodeApi
from tests.lab.pct import Pct
from tests.lab.sshd import Door
from tests.lab.traffic import Traffic

ALREADY_RUNNING = 75
"""Exit status when another daemon holds the folder."""

_SLOTS = {129: 0, 130: 1}
"""Which pair of ports the inventory's containers have; others get the next ones."""

_GRACE_S = {"vzshutdown": 3.0, "vzreboot": 3.0}


class Practice:
    """A node, its API and root shell, its containers, and what is wrong with them.

    root_tar: the root file system of real LXC containers; without one they are sandboxes
    """

    def __init__(self, layout: Layout, claimed: ports.Ports, root_tar: Path | None = None) -> None:
        self.layout = layout
        self.ports = claimed
        self.reaper = processes.Reaper()
        self.root_tar = root_tar
        self.bed = Bed(layout, self.reaper) if root_tar else None
        self.traffic = Traffic(layout.logs / "traffic.jsonl")
        self.gpus = Gpus(layout.gpus)
        self.token_secret = _secret(layout.secrets / "token")
        _secret(layout.secrets / "api-key")
        password = _secret(layout.secrets / "root-password")
        self.api = NodeApi(claimed.api, password, layout.node, self.traffic, self.settle)
        self.api.network_up = lambda ctid: ctid in self._boxes and self._boxes[ctid].door.state == "open"
        self.api.add_token(TOKEN, self.token_secret)
        self._certificate, self._key, self.fingerprint = certificates.write(
            layout.keys, layout.ca, ("127.0.0.1", "localhost", NODE)
        )
        self._number = lxc_config.number if root_tar else None
        machine = node.make(layout, self.gpus, self._number)
        self.node_door = Door(machine, claimed.node_ssh, self.traffic, self.reaper)
        self.faults = Faults(self)
        self.done = asyncio.Event()
        self._boxes: dict[int, Box] = {}
        self._slots = dict(_SLOTS)
        self._settling: dict[int, asyncio.Lock] = {}
        self._pct = Pct(self.api, self._boxes.get)

    # ---------------------------------------------------------------------------------- life

    async def open(self) -> None:
        """Everything listens; the inventory is there."""
        engine = await asyncio.to_thread(repository.make, self.layout.git)
        await asyncio.to_thread(models.make, self.layout.node / MODELS.lstrip("/"))
        self.reaper.adopt()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCHLD, self.reaper.reap)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.done.set)
        if self.bed:
            await self.bed.open()
            self.api.dhcp_address = lambda ctid: self._boxes[ctid].address
        await self.open_api()
        await self.node_door.open()
        hosts.write(self.layout, self.ports, engine, self.node_door.machine.host_key, self.bed)

    async def close(self) -> None:
        """Nothing listens and nothing runs."""
        await self.faults.clear()
        await self._destroy_all()
        await self.node_door.close()
        await self.close_api()
        if self.bed:
            await self.bed.close()
        await processes.end(self.layout.folder)

    async def reset(self) -> None:
        """Containers gone, faults off, GPUs well, counts at zero."""
        await self.faults.clear()
        await self._destroy_all()
        self.gpus.reset()
        await self._show_gpus()
        self.traffic.clear()

    async def _destroy_all(self) -> None:
        self.api.clear()
        for ctid in tuple(self._boxes):
            await self.settle(ctid, "vzdestroy")
        self._slots = dict(_SLOTS)

    async def open_api(self) -> None:
        """The API answers."""
        if self.api.runner is None:
            await self.api.start(str(self._certificate), str(self._key))

    async def close_api(self) -> None:
        """The API's port is closed."""
        await self.api.stop()

    # ---------------------------------------------------------------------------- containers

    async def settle(self, ctid: int, task: str) -> None:
        """Make a container's sandbox what the node says it is; `task` is what has just ended."""
        async with self._settling.setdefault(ctid, asyncio.Lock()):
            ct, box = self.api.ct(ctid), self._boxes.get(ctid)
            if ct is None:
                if box:
                    await box.destroy()
                    del self._boxes[ctid]
                return
            if ct.lock == "create":
                return
            if box is None:
                box = self._new_box(ctid)
                await box.create(ct.config, self.api.public_keys.get(ctid, ""), self.gpus)
                self._boxes[ctid] = box
            if box.pid not in (None, ct.pid):
                await box.halt(grace_s=_GRACE_S.get(task, 0))
            if ct.status == "running":
                if box.pid is None:
                    await box.boot(ct.config, ct.pid, self.gpus)
                else:
                    await box.apply(ct.config, self.gpus)

    def _new_box(self, ctid: int) -> Box:
        if self.bed and self.root_tar:
            return LxcBox(self.layout, ctid, self.slot(ctid), self.bed, self.root_tar)
        return Sandbox(self.layout, ctid, self.slot(ctid), self.ports, self.traffic, self.reaper)

    def box(self, ctid: int) -> Box:
        """A container. Raises KeyError with a sentence when there is no such container."""
        if ctid not in self._boxes:
            raise KeyError(f"there is no container {ctid} in the lab yet")
        return self._boxes[ctid]

    def lxc_box(self, ctid: int) -> LxcBox:
        """The same, where containers are real."""
        box = self.box(ctid)
        assert isinstance(box, LxcBox)
        return box

    def slot(self, ctid: int) -> int:
        """Which pair of ports a container has, also before it exists."""
        return self._slots.setdefault(ctid, len(self._slots))

    async def change_gpus(self, changes: dict[str, Any]) -> None:
        """Change the GPUs' state everywhere at once. Raises KeyError for a key that there is not."""
        self.gpus.change(changes)
        await self._show_gpus()

    async def _show_gpus(self) -> None:
        node.write_devices(self.layout, self.gpus, self._number)
        for ctid, box in self._boxes.items():
            if (ct := self.api.ct(ctid)) and box.pid is not None:
                await box.apply(ct.config, self.gpus)

    # --------------------------------------------------------------------------- the control

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request of the control socket. {"error": ...} for what cannot be done."""
        try:
            match request:
                case {"do": "pct", "argv": argv}:
                    return await self._pct.run(argv)
                case {"do": "status"}:
                    return self._status()
                case {"do": "reset"}:
                    await self.reset()
                case {"do": "down"}:
                    self.done.set()
                case {"do": "fault", "name": name, "on": on, "arguments": arguments}:
                    await self.faults.switch(name, on, arguments)
                case {"do": "gpu", "changes": changes}:
                    await self.change_gpus(changes)
                    return self.gpus.state
                case {"do": "traffic"}:
                    return self.traffic.counts()
                case {"do": "power", "verb": verb, "ctid": ctid}:
                    return await self._pct.run([verb, str(ctid)])
                case _:
                    return {"error": f"not understood: {request}"}
        except OSError as error:
            return {"error": str(error)}
        except (KeyError, TypeError, ValueError) as error:
            return {"error": str(error.args[0]) if error.args else type(error).__name__}
        return {}

    def _status(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "folder": str(self.layout.folder),
            "inventory": str(self.layout.inventory),
            "kind": "lxc" if self.bed else "sandbox",
            "api": {"url": self.api.url, "up": self.api.runner is not None, "quorate": self.api.quorate},
            "node": {"name": NODE, "ssh_port": self.node_door.port, "ssh": self.node_door.state},
            "containers": {
                f"ct{ctid}": {
                    "status": ct.status,
                    "lock": ct.lock,
                    "address": box.address,
                    "ssh_port": box.door.port,
                    "ssh": box.door.state,
                    "server_port": box.server_port,
                    "processes": len(processes.of_lab(self.layout.folder, ctid)),
                }
                for ctid, box in sorted(self._boxes.items())
                if (ct := self.api.ct(ctid))
            },
            "faults": sorted(self.faults.active),
        }


def _secret(path: Path) -> str:
    secret = secrets.token_hex(16)
    path.touch(mode=0o600)
    path.write_text(secret)
    return secret


def _prepare(layout: Layout) -> ports.Ports:
    """Empty the folder but for its logs, and claim the ports that it had before if they are free."""
    had = json.loads(layout.mark.read_text()).get("ports") if layout.mark.exists() and layout.mark.read_text() else None
    layout.clear()
    for folder in (layout.keys, layout.secrets, layout.logs):
        folder.mkdir(mode=0o700, exist_ok=True)
    claimed = ports.claim(had)
    layout.mark.write_text(json.dumps({"ports": claimed.base}) + "\n")
    return claimed


async def _run(layout: Layout, owner: int | None, root_tar: Path | None) -> None:
    await processes.end(layout.folder)  # what a daemon that was killed has left
    sweep(layout)
    practice = Practice(layout, _prepare(layout), root_tar)
    try:
        await practice.open()
        listener = await control.listen(layout.control, practice.answer)
        if owner is not None:
            asyncio.get_running_loop().add_reader(owner, practice.done.set)
        await practice.done.wait()
        listener.close()
    finally:
        await practice.close()
        practice.ports.release()
        layout.clear()


def main(argv: list[str] | None = None) -> int:
    """Run a lab until it is told to stop. Exit status 75 when one runs in the folder already."""
    parser = argparse.ArgumentParser(prog="tests.lab.daemon", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--while-open", type=int, metavar="FD", help="stop when the other end of this pipe is closed")
    parser.add_argument("--lxc-root", type=Path, metavar="TAR", help="containers are real, made from this file system")
    options = parser.parse_args(argv)
    layout = Layout(options.folder.resolve())
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    with layout.lock.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return ALREADY_RUNNING
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_run(layout, options.while_open, options.lxc_root))
    return 0


if __name__ == "__main__":
    sys.exit(main())
