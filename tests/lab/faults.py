"""The faults that a test or a player can switch on and off."""

import asyncio
import difflib
import errno
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from tests.lab.layout import NODE
from tests.lab.node_api import TIME_SCALE, TOKEN

if TYPE_CHECKING:
    from tests.lab.daemon import Practice

Switch = Callable[..., Awaitable[None]]


class Faults:
    """Each fault is a method named after it, with `on` first; its docstring is what `invoke lab.fault` shows.

    ctid chooses the container where one is meant; a fault outlives the container's stop and start, not `reset`.
    """

    def __init__(self, practice: "Practice") -> None:
        self._lab = practice
        self.active: dict[str, dict[str, Any]] = {}
        self._listeners: dict[int, asyncio.Server] = {}

    @classmethod
    def catalogue(cls) -> dict[str, str]:
        """Name -> what it does, with its arguments and their defaults."""
        found = {}
        for name, method in sorted(vars(cls).items()):
            parameters = (
                list(inspect.signature(method).parameters.values()) if inspect.iscoroutinefunction(method) else []
            )
            if name.startswith("_") or [p.name for p in parameters[:2]] != ["self", "on"]:
                continue
            arguments = ", ".join(f"{p.name}={p.default!r}" for p in parameters[2:])
            found[name.replace("_", "-")] = f"{inspect.getdoc(method)}" + (f" [{arguments}]" if arguments else "")
        return found

    async def switch(self, name: str, on: bool, arguments: dict[str, Any]) -> None:
        """Switch one fault. Raises KeyError for a fault that there is not, TypeError for an argument it does not take."""
        if name not in self.catalogue():
            near = difflib.get_close_matches(name, self.catalogue(), 1)
            raise KeyError(f"no fault is called {name}" + (f": did you mean {near[0]}?" if near else ""))
        method: Switch = getattr(self, name.replace("-", "_"))
        takes = list(inspect.signature(method).parameters)[1:]
        if wrong := [argument for argument in arguments if argument not in takes]:
            flags = ["--ctid" if argument == "ctid" else f"--set {argument}=..." for argument in takes]
            raise TypeError(f"{name} takes {', '.join(flags) or 'no argument'}, not {', '.join(wrong)}")
        bound = inspect.signature(method).bind(on, **arguments)
        await method(*bound.args, **bound.kwargs)
        key = f"{name} {arguments['ctid']}" if "ctid" in arguments else name
        if on:
            self.active[key] = {"name": name, "arguments": arguments}
        else:
            self.active.pop(key, None)

    async def clear(self) -> None:
        """Switch off whatever is on."""
        for fault in list(self.active.values()):
            await self.switch(fault["name"], False, fault["arguments"])

    # ------------------------------------------------------------------------------------- the API

    async def api_down(self, on: bool) -> None:
        """The node's API refuses connections."""
        await (self._lab.close_api if on else self._lab.open_api)()

    async def api_slow(self, on: bool, seconds: float = 2) -> None:
        """Every API answer takes so many seconds longer."""
        self._lab.api.slow_network(seconds / TIME_SCALE if on else 0.0)

    async def api_flaky(self, on: bool, drop_rate: float = 0.3) -> None:
        """A share of the API requests is cut off without an answer."""
        self._lab.api.flaky_network(drop_rate=drop_rate if on else 0.0)

    async def api_error(
        self,
        on: bool,
        method: str = "GET",
        path: str = "/version",
        status: int = 596,
        message: str = "Broken pipe",
        times: int | None = None,
    ) -> None:
        """API requests whose path ends with `path` get this status and text, the first `times` of them or all."""
        if on:
            self._lab.api.fail(method, path, status, message, times=times)
        else:
            self._lab.api.failures.pop((method, path), None)

    async def token_refused(self, on: bool) -> None:
        """The token was revoked (401)."""
        self._lab.api.apitokens[TOKEN] = None if on else self._lab.token_secret

    async def quorum_lost(self, on: bool) -> None:
        """The cluster has no quorum: reads work, writes are refused."""
        self._lab.api.quorate = not on

    async def node_offline(self, on: bool) -> None:
        """Another node answers for this one, and cannot reach it (595)."""
        self._lab.api.set_node_offline(NODE, on)

    async def start_fails(self, on: bool, ctid: int = 129, message: str = "startup for container '129' failed") -> None:
        """The container's start task ends with an error."""
        self._lab.box(ctid)
        self._lab.api.ct(ctid).start_error = message if on else None

    async def ct_locked(self, on: bool, ctid: int = 129, lock: str = "backup") -> None:
        """The container is locked by a task that never ends."""
        self._lab.box(ctid)
        if on:
            self._lab.api.snapshot_lock(ctid, lock)
        else:
            self._lab.api.unlock(ctid)

    # ----------------------------------------------------------------------------------- the lines

    async def node_ssh_down(self, on: bool) -> None:
        """The node's sshd refuses connections, and those that were open break."""
        await (self._lab.node_door.close if on else self._lab.node_door.open)()

    async def ssh_down(self, on: bool, ctid: int = 129) -> None:
        """The container has no network: ssh is refused, what was open breaks, the API shows no address."""
        box = self._lab.box(ctid)
        box.network_wanted = not on
        if on:
            await box.door.close()
        elif box.pid is not None:
            await box.door.open()

    async def ssh_frozen(self, on: bool, ctid: int = 129) -> None:
        """The container's sshd accepts and never answers; commands on open connections do not start."""
        box = self._lab.box(ctid)
        box.network_wanted = not on
        if on:
            await box.door.freeze()
        elif box.pid is not None:
            await box.door.open()
        else:
            await box.door.close()

    # ---------------------------------------------------------------------------- inside a container

    async def disk_full(self, on: bool, ctid: int = 129) -> None:
        """df shows no space and no file can grow (in a sandbox EFBIG: only the kernel can say ENOSPC)."""
        await self._lab.box(ctid).fill_disk(on)

    async def port_taken(self, on: bool, ctid: int = 129) -> None:
        """A stranger listens on the engine's port and answers 404."""
        if self._lab.bed:
            await self._lab.lxc_box(ctid).take_port(on)
        elif on and ctid not in self._listeners:
            port = self._lab.ports.server(self._lab.slot(ctid))
            try:
                self._listeners[ctid] = await asyncio.start_server(_stranger, "127.0.0.1", port)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                raise ValueError(f"port {port} of container {ctid} is in use: its own server runs there") from error
        elif not on and ctid in self._listeners:
            self._listeners.pop(ctid).close()

    # -------------------------------------------------------------------------------------- the GPUs

    async def gpu_mismatch(self, on: bool, ctid: int = 129, version: str = "565.57.01") -> None:
        """The container's NVIDIA libraries are not of the driver's version."""
        userland = dict(self._lab.gpus.state["userland"])
        if on:
            userland[f"ct{ctid}"] = version
        else:
            userland.pop(f"ct{ctid}", None)
        await self._lab.change_gpus({"userland": userland})

    async def gpu_lost(self, on: bool, index: int = 1) -> None:
        """A GPU has fallen off the bus."""
        lost = set(self._lab.gpus.state["lost"])
        await self._lab.change_gpus({"lost": sorted(lost | {index} if on else lost - {index})})

    async def vram_held(self, on: bool, index: int = 0, mib: int = 30000) -> None:
        """Somebody else's process holds memory of a GPU."""
        held = {key: value for key, value in self._lab.gpus.state["held_mib"].items() if key != str(index)}
        await self._lab.change_gpus({"held_mib": {**held, str(index): mib} if on else held})


async def _stranger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await reader.readline()
        writer.write(b"HTTP/1.1 404 Not Found\r\nServer: nginx\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
