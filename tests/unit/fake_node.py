"""fakepve over TLS on a thread of its own, with what it lacks for our tests: DHCP leases and a clean end.

The fixtures are for the rooms' conftest.py to import.
"""

import asyncio
import selectors
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from fakepve import FakePve
from fakepve.certs import make_cert

from inventory.models import Api, Token
from inventory.pve.api import Proxmox

TOKEN = "llm@pve!deploy"
SECRET = "8a1e"

Connect = Callable[..., Proxmox]
T = TypeVar("T")


class FakeNode(FakePve):  # type: ignore[misc]
    """A cluster of one node, pve1. Tasks end before the request that starts them is answered."""

    def __init__(self, host: str) -> None:
        super().__init__(user="root@pam", password="secret", host=host, port=0)
        self.time_scale = 0.0
        self.leases: dict[int, str] = {}
        self.selector = selectors.DefaultSelector()
        self.loop = asyncio.SelectorEventLoop(self.selector)

    async def _lxc_interfaces(self, user: str, v: dict[str, Any]) -> Any:
        """fakepve has no DHCP server: a lease shows as pve-container shows it."""
        rows = await super()._lxc_interfaces(user, v)
        lease = self.leases.get(int(v["vmid"]))
        for row in rows or []:
            if row["name"] == "eth0" and lease:
                row["inet"] = lease
        return rows

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run something on the fake's own loop, as its scenarios ask for (hold_config_lock)."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)


@contextmanager
def serving(certificate: Path, key: Path, host: str = "127.0.0.1") -> Iterator[FakeNode]:
    """A fake that answers at https://HOST:fake.port."""
    fake = FakeNode(host)
    thread = threading.Thread(target=fake.loop.run_forever, daemon=True)
    thread.start()
    try:
        fake.call(fake.start(str(certificate), str(key)))
        yield fake
    finally:
        fake.call(_end(fake))
        fake.loop.call_soon_threadsafe(fake.loop.stop)
        thread.join(30)
        fake.loop.close()


def certificate(folder: Path, *hosts: str) -> tuple[Path, Path]:
    """A self-signed certificate for localhost, 127.0.0.1 and the hosts, and its key."""
    crt, key, _ = make_cert(str(folder), hosts=hosts)
    return Path(crt), Path(key)


async def _end(fake: FakeNode) -> None:
    for connection in list(fake.runner.server.connections):
        if connection.transport is not None:
            connection.transport.abort()  # one that the client closed without a TLS goodbye would never end by itself
    await fake.stop()
    for _ in range(1000):  # a TLS connection needs some turns of the loop to close; the loop's own pipe stays
        if len(fake.selector.get_map()) <= 1:
            break
        await asyncio.sleep(0.002)


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Certificate and key of the fake."""
    return certificate(tmp_path_factory.mktemp("pki"))


@pytest.fixture
def fake(pki: tuple[Path, Path]) -> Iterator[FakeNode]:
    """A node on which TOKEN may do everything."""
    with serving(*pki) as node:
        node.apitokens[TOKEN] = SECRET
        yield node


@pytest.fixture
def connect(fake: FakeNode, pki: tuple[Path, Path]) -> Iterator[Connect]:
    """Connect with TOKEN and the fake's certificate as CA; keywords change the Api, `sleep` and `clock` are passed on."""
    with ExitStack() as stack:

        def made(
            sleep: Callable[[float], None] = lambda _: None,
            clock: Callable[[], float] = lambda: 0.0,
            secret: str = SECRET,
            **changes: Any,
        ) -> Proxmox:
            words = {
                "host": fake.host,
                "port": fake.port,
                "token": Token(id=TOKEN, secret="env:PVE_TOKEN"),
                "ca_file": str(pki[0]),
                **changes,
            }
            pve = Proxmox.connect(Api(**words), "pve1", lambda _: secret, sleep=sleep, clock=clock)
            stack.callback(pve.close)
            return pve

        yield made
