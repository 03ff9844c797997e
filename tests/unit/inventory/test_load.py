"""Files rather than texts: what cannot be read, paths on the controller, the example, what an import costs."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from inventory.errors import ExitCode, InventoryError
from inventory.load import Inventory, load
from inventory.positions import LARGEST_FILE_BYTES
from tests.unit.inventory.conftest import CHECKOUT, SMALL


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"hosts:\n  \xff: x\n", "hosts.yml:2: file: is not UTF-8 text"),
        (b"\xff\xfeh\0o\0", "hosts.yml:1: file: is not UTF-8 text"),
        (b"#" * (LARGEST_FILE_BYTES + 1), "hosts.yml: file: is larger than 1 MiB"),
    ],
)
def test_what_is_no_yaml_text_is_said_with_its_line(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "hosts.yml").write_bytes(content)
    with pytest.raises(InventoryError, match=said) as caught:
        load(tmp_path / "hosts.yml")
    assert caught.value.tries


@pytest.mark.parametrize(("name", "said"), [("missing.yml", "No such file"), (".", "Is a directory")])
def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(InventoryError, match=f"cannot be read: {said}") as caught:
        load(tmp_path / name)
    assert caught.value.exit_code == ExitCode.USAGE
    assert caught.value.tries


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_bytes(b"\xef\xbb\xbf" + SMALL.encode())
    assert list(load(tmp_path / "hosts.yml").hosts) == ["ct129", "ct130"]


def test_an_empty_file_says_how_to_begin(load_text: Callable[[str], Inventory]) -> None:
    with pytest.raises(InventoryError) as caught:
        load_text("# nothing yet\n")
    assert caught.value.tries == ("cp inventory/example.yml inventory/hosts.yml", "invoke lab.up")


def test_sections_may_be_empty(load_text: Callable[[str], Inventory]) -> None:
    inventory = load_text("version: 1\ndefaults:\ngroups:\nnodes: null\nhosts:\n")
    assert (inventory.hosts, inventory.nodes, inventory.groups) == ({}, {}, {})


def test_controller_paths_are_relative_to_the_file(load_text: Callable[[str], Inventory], tmp_path: Path) -> None:
    inventory = load_text(
        SMALL.replace("secret: env:T}}", "secret: file:t.secret}, ca_file: ca.pem}").replace(
            "ssh: {host: 10.0.0.1}", "ssh: {host: 10.0.0.1, key: /abs/key, known_hosts: known}"
        )
        + "    ssh: {key: ~/.ssh/id}\n    server: {secrets: {A: file:~/a, B: env:B, C: 'command:pass c'}}\n"
    )
    node, host = inventory.nodes["pve1"], inventory.hosts["ct130"].host
    assert node.api.token
    assert node.api.token.secret == f"file:{tmp_path}/t.secret"
    assert node.api.ca_file == f"{tmp_path}/ca.pem"
    assert (node.ssh.key, node.ssh.known_hosts) == ("/abs/key", f"{tmp_path}/known")
    assert (host.ssh.key, host.ssh.known_hosts) == ("/home/tester/.ssh/id", "/home/tester/.ssh/known_hosts")
    assert host.server.secrets == {"A": "file:/home/tester/a", "B": "env:B", "C": "command:pass c"}


def test_the_home_of_nobody_is_a_problem(load_text: Callable[[str], Inventory]) -> None:
    with pytest.raises(InventoryError, match=r"hosts\.ct130: Could not determine home"):
        load_text(SMALL + "    ssh: {key: ~nobody-of-this-name/key}\n")


def test_a_node_is_called_as_its_key_unless_it_says_otherwise(load_text: Callable[[str], Inventory]) -> None:
    assert load_text(SMALL).hosts["ct129"].node.name == "pve1"
    resolved = load_text(SMALL.replace("  pve1:\n", "  pve1:\n    name: pve-old\n")).hosts["ct129"]
    assert (resolved.node_name, resolved.node.name) == ("pve1", "pve-old")


def test_the_example_loads_and_tells_the_story() -> None:
    inventory = load(CHECKOUT / "inventory" / "example.yml")
    host = inventory.hosts["ct129"].host
    assert host.drafter
    assert host.drafter.config["dflash_config"] == {
        "mask_token_id": 248070,
        "target_layer_ids": [1, 16, 31, 46, 61],
    }
    assert host.drafter.tokens == 5
    assert (host.container.gpus.indices, host.server.tensor_parallel, host.container.memory_mib) == ((0, 1), 2, 65536)
    assert [resolved.name for resolved in inventory.select(["qwen27b"])] == ["ct129", "ct130"]
    assert inventory.hosts["ct130"].host.drafter is None


def test_importing_the_loader_brings_nothing_heavy_along() -> None:
    heavy = ("scipy", "numpy", "paramiko", "fabric", "aiohttp", "requests", "rich", "jinja2", "proxmoxer")
    code = f"import sys, inventory.load; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
