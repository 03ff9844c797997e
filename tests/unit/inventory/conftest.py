"""What the tests of the inventory share: a home, a small file, and reading text as a file."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from inventory.load import Inventory, load

CHECKOUT = Path(__file__).parents[3]

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no finding."""

SMALL = """\
nodes:
  pve1:
    api: {host: 10.0.0.1, token: {id: a@pve!t, secret: env:T}}
    ssh: {host: 10.0.0.1}
groups:
  both: {hosts: [ct130, ct129]}
  none: {hosts: []}
hosts:
  ct129:
    node: pve1
    container: {ctid: 129, template: local:vztmpl/u.tar.zst, net: {ip: 10.0.0.129/24}}
    engine: {source: release:0.33.0}
    model: {path: /m, served_name: q}
    drafter: {method: ngram, tokens: 3}
  ct130:
    node: pve1
    container: {ctid: 130, template: local:vztmpl/u.tar.zst}
    engine: {source: release:0.33.0}
    model: {path: /m, served_name: q}
"""


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/tester")


@pytest.fixture
def load_text(tmp_path: Path) -> Callable[[str], Inventory]:
    """Load a text as if it were a file called hosts.yml."""

    def load_it(text: str) -> Inventory:
        path = tmp_path / "hosts.yml"
        path.write_text(text, encoding="utf-8")
        return load(path)

    return load_it


@pytest.fixture
def small(load_text: Callable[[str], Inventory]) -> Inventory:
    return load_text(SMALL)
