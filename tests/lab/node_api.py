"""The node's API: fakepve, with what it lacks of a real node."""

import re
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web
from fakepve import FakePve
from fakepve import schema as pve_schema
from fakepve.model import PveError, TaskError
from fakepve.server import error as pve_response
from fakepve.server import redact

from tests.lab.layout import NODE
from tests.lab.traffic import Traffic

TOKEN = "llm@pve!deploy"
TEMPLATE = "ubuntu-24.04-standard_24.04-2_amd64.tar.zst"
POOL = "llm"
PRIVILEGES = (
    *("VM.Allocate", "VM.Audit", "VM.Clone", "VM.PowerMgmt", "VM.Snapshot", "VM.Snapshot.Rollback"),
    *(f"VM.Config.{what}" for what in ("CPU", "Disk", "Memory", "Network", "Options")),
    *("Datastore.AllocateSpace", "Datastore.AllocateTemplate", "Datastore.Audit"),
    *("SDN.Use", "Pool.Audit", "Sys.Audit"),
)
_GRANTED = (
    f"/pool/{POOL}",
    "/storage/local",
    "/storage/local-lvm",
    f"/nodes/{NODE}",
    "/sdn/zones/localnetwork/vmbr0",
)
TIME_SCALE = 0.02
"""Real seconds per second of the node: a create takes 0.1 s."""

_DEVICE = re.compile(r"dev\d+")
_MOUNT = re.compile(r"mp\d+")
_KEY = re.compile(r"(ssh-|ecdsa-|sk-)\S+ [A-Za-z0-9+/=]+( .*)?")

type_of_task = str
Settled = Callable[[int, type_of_task], Awaitable[None]]


class NodeApi(FakePve):
    """One node, pve1. `settle(ctid, task type)` is awaited after each task and config change, before it counts as done.

    Beyond fakepve: a token with privilege separation has only what it *and* its user were granted; a dev[n] must exist
    on the node (at set and at start) and be no folder; a container with a bind mount cannot be snapshotted; ssh keys of
    the create call are kept; unknown paths are 501; DHCP gives an address, once the container's network is up.
    """

    def __init__(self, port: int, password: str, node: Path, traffic: Traffic, settle: Settled) -> None:
        super().__init__(user="root@pam", password=password, host="127.0.0.1", port=port)
        self.network_up: Callable[[int], bool] = lambda _ctid: False
        self.dhcp_address: Callable[[int], str] = lambda ctid: f"192.0.2.{ctid % 250 + 1}"
        self.public_keys: dict[int, str] = {}
        self._node = node
        self._traffic = traffic
        self._settle = settle
        self._separated: dict[str, str] = {}
        self.time_scale = TIME_SCALE
        self.ct_secs.update(create=5, destroy=2, snapshot=2, delsnapshot=1, rollback=3)
        self.storages["local-lvm"]["avail"] = 800 * 1024**3
        self.store_file("local", TEMPLATE, 141_589_504, content="vztmpl")
        self.clear()

    def clear(self) -> None:
        """A fresh node without containers. The token keeps its secret."""
        self.cts.clear()
        self.public_keys.clear()
        self.failures.clear()
        self.network.update(latency=0.0, jitter=0.0, drop_rate=0.0, hang_rate=0.0)
        self.pools: dict[str, set[int]] = {POOL: set()}
        self.pool_info: dict[str, dict[str, Any]] = {POOL: {"comment": None, "storage": set()}}
        self.regain_quorum()
        self.set_node_offline(NODE, False)

    def add_token(self, token: str, secret: str) -> None:
        """A user and a privilege-separated token, both with the role that the README's `pveum` lines give."""
        owner = token.partition("!")[0]
        alone = token.replace("!", " ")  # an id of its own: fakepve gives an id with "!" its user's rights, too
        self.apitokens[token] = secret
        self._separated[token] = alone
        for path in _GRANTED:
            self.grant(owner, path, *PRIVILEGES)
            self.grant(alone, path, *PRIVILEGES)

    async def as_root(self, method: str, path: str, values: dict[str, str]) -> Any:
        """What `pct` does on the node: the call without HTTP, checked against the schema, as root@pam.

        Returns its data (a UPID where it starts a task). Raises PveError.
        """
        match = pve_schema.load().match(path)
        handlers = {
            ("PUT", "/nodes/{node}/lxc/{vmid}/config"): self._lxc_config_put,
            ("GET", "/nodes/{node}/lxc/{vmid}/config"): self._lxc_config_get,
            ("GET", "/nodes/{node}/lxc/{vmid}/pending"): self._lxc_pending,
            ("GET", "/nodes/{node}/lxc/{vmid}/status/current"): self._lxc_status_current,
            ("POST", "/nodes/{node}/lxc/{vmid}/status/start"): self._lxc_start,
            ("POST", "/nodes/{node}/lxc/{vmid}/status/stop"): self._lxc_stop,
            ("POST", "/nodes/{node}/lxc/{vmid}/status/shutdown"): self._lxc_shutdown,
            ("POST", "/nodes/{node}/lxc/{vmid}/status/reboot"): self._lxc_reboot,
            ("DELETE", "/nodes/{node}/lxc/{vmid}"): self._lxc_destroy,
        }
        values, errors = pve_schema.validate(match.methods[method].get("parameters"), {**values, **match.params})
        if errors:
            raise PveError(400, "Parameter verification failed.", errors)
        return await handlers[method, match.template]("root@pam", values)

    async def start(self, certfile: str, keyfile: str) -> None:
        """Listen. Unlike fakepve's, requests that are being answered do not delay a `stop`."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certfile, keyfile)
        self.runner = web.AppRunner(self._build_app(), handler_cancellation=True, shutdown_timeout=0.05)
        await self.runner.setup()
        await web.TCPSite(self.runner, self.host, self.port, ssl_context=context, reuse_address=True).start()

    # --------------------------------------------------------------------- what fakepve lacks: rights

    def allowed(self, user: str, path: str, priv: str) -> bool:
        if user in self._separated:
            owner = user.partition("!")[0]
            return all(super(NodeApi, self).allowed(who, path, priv) for who in (owner, self._separated[user]))
        return bool(super().allowed(user, path, priv))

    async def _permissions(self, v: dict[str, Any], user: str) -> dict[str, dict[str, int]]:
        who = v.get("userid") or user
        if who not in self._separated:
            return dict(await super()._permissions(v, user))
        alone = await super()._permissions({**v, "userid": self._separated[who]}, user)
        owner = await super()._permissions({**v, "userid": who.partition("!")[0]}, user)
        both = {path: {priv: 1 for priv in privs if priv in owner.get(path, {})} for path, privs in alone.items()}
        return {path: privs for path, privs in both.items() if privs}

    # ------------------------------------------------------------------ what fakepve lacks: the node

    def _need_devices(self, config: dict[str, Any]) -> None:
        """Raise what PVE says when a dev[n] is not a device of the node."""
        for key in sorted(config):
            if _DEVICE.fullmatch(key) and config[key]:
                path = str(config[key]).split(",")[0].removeprefix("path=")
                on_node = self._node / path.lstrip("/")
                if not on_node.exists():
                    raise PveError(500, f"Device {path} does not exist")
                if on_node.is_dir():
                    raise PveError(500, f"{path} is not a device")

    async def _lxc_create(self, user: str, v: dict[str, Any]) -> Any:
        keys = str(v.get("ssh-public-keys") or "")
        if any(line.strip() and not _KEY.fullmatch(line.strip()) for line in keys.splitlines()):
            raise PveError(500, "SSH public key validation error")
        if user == "root@pam":
            self._need_devices(v)
        if self.guest(int(v["vmid"])) is None:
            self.public_keys[int(v["vmid"])] = keys
        return await super()._lxc_create(user, v)

    async def _update_config(self, ct: Any, user: str, values: dict[str, Any], deletes: Any, reverts: Any) -> None:
        self._need_devices(values)
        await super()._update_config(ct, user, values, deletes, reverts)
        await self._settle(ct.vmid, "config")

    async def _start_steps(self, ct: Any, user: str, skiplock: bool = False) -> None:
        try:
            self._need_devices({**ct.config, **ct.pending})
        except PveError as error:
            raise TaskError(error.message) from error
        await super()._start_steps(ct, user, skiplock)

    async def _lxc_snapshot(self, user: str, v: dict[str, Any]) -> Any:
        ct = self._find_ct(v["node"], v["vmid"])
        if not any(_MOUNT.fullmatch(key) and str(value).startswith("/") for key, value in ct.config.items()):
            return await super()._lxc_snapshot(user, v)

        async def body() -> None:
            raise TaskError("snapshot feature is not available")

        return await self._ct_task(ct, "vzsnapshot", user, body, lock=False)

    async def _lxc_interfaces(self, user: str, v: dict[str, Any]) -> Any:
        interfaces = await super()._lxc_interfaces(user, v)
        ctid = int(v["vmid"])
        for item in interfaces or ():
            if item["name"] == "lo":
                continue
            if not self.network_up(ctid):
                item.pop("inet", None)
                item["ip-addresses"] = []
            elif "inet" not in item:
                item["inet"] = f"{self.dhcp_address(ctid)}/24"
                item["ip-addresses"].append(
                    {"ip-address-type": "inet", "ip-address": item["inet"].partition("/")[0], "prefix": "24"}
                )
        return interfaces

    async def _generic(self, request: Any) -> Any:
        if self.resolve(request, "/api2/json") is None:
            path = re.sub(r"^/api2/(json|extjs)", "", request.path)
            return pve_response(501, f"Method '{request.method} {path}' not implemented")
        return await super()._generic(request)

    async def task(self, node: str, ttype: str, tid: Any, user: str, body: Any, **more: Any) -> Any:
        async def settled() -> Any:
            try:
                return await body()
            finally:
                if str(tid).isdigit():
                    await self._settled(int(tid), ttype)

        return await super().task(node, ttype, tid, user, settled, **more)

    async def _settled(self, ctid: int, task: str) -> None:
        try:
            await self._settle(ctid, task)
        except (OSError, ValueError) as error:  # else the task would seem to run for ever
            raise TaskError(f"practice ground: {error}") from error

    def _record(self, request: Any, body: bytes) -> None:
        sent = parse_qsl(redact(body, request.content_type).decode(errors="replace"), keep_blank_values=True)
        client = request.headers.get("User-Agent", "")
        self._traffic.request(request.method, request.path, {**request.query, **dict(sent)}, client)
        super()._record(request, body)
