"""A fake node over TLS, and a way to call it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from inventory.models import Api, Token
from inventory.proxmox import Proxmox
from tests.unit.fake_node import FakeNode, certificate, serving

TOKEN = "llm@pve!deploy"
SECRET = "8a1e"


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


Connect = Callable[..., Proxmox]


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
