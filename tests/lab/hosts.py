"""The inventory that points at a lab: what a person would write for it, with the lab's ports and paths."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.lab.layout import MODELS, NODE, Layout
from tests.lab.lxc.bed import Bed
from tests.lab.node_api import POOL, TEMPLATE, TOKEN
from tests.lab.ports import Ports
from tests.lab.repository import Repository

GROUP = "lab"
Changes = Mapping[str, object]
"""Values at dotted paths; a None takes the key away."""
_HEAD = """\
# The practice ground's inventory. `invoke lab.up` writes it anew; changes are lost.
# A real one: inventory/example.yml
"""


def write(layout: Layout, ports: Ports, engine: Repository, node_host_key: Path, bed: Bed | None = None) -> None:
    """Write hosts.yml. With a bed the containers are real, and so is nearly all that is said of them."""
    text = yaml.safe_dump(document(layout, ports, engine, node_host_key, bed), sort_keys=False, width=120)
    layout.inventory.write_text(_HEAD + text, encoding="utf-8")


def document(
    layout: Layout, ports: Ports, engine: Repository, node_host_key: Path, bed: Bed | None = None
) -> dict[str, Any]:
    """Its content. Two hosts on one node: ct129 as in the field report, ct130 with another engine and model."""
    login = {"host": "127.0.0.1", "user": "root", "key": str(layout.login_key)}
    host_key = " ".join(Path(f"{node_host_key}.pub").read_text(encoding="utf-8").split()[:2])
    node = {
        "name": NODE,
        "api": {
            "host": "127.0.0.1",
            "port": ports.api,
            "token": {"id": TOKEN, "secret": f"file:{layout.secrets / 'token'}"},
            "ca_file": str(layout.ca),
        },
        "ssh": {**login, "port": ports.node_ssh, "host_key": host_key},
        "paths": _paths(layout.node),
    }
    return {
        "defaults": {
            "node": NODE,
            "container": {
                "template": f"local:vztmpl/{TEMPLATE}",
                "cores": 8,
                "memory_mib": 65536,
                "storage": "local-lvm",
                "rootfs_gib": 64,
                "pool": POOL,
                "mounts": [{"source": MODELS, "target": "/mnt/models", "read_only": True}],
            },
            "engine": {
                "kind": "vllm",
                "repository": bed.repository if bed else engine.url,
                "index_url": "none",
                "torch_backend": "cpu",
                "build_timeout_s": 120,
            },
            "server": {
                **({} if bed else {"listen": "127.0.0.1", "reach": "direct", "supervisor": "process"}),
                # Ten times as fast as the hardware that the stand-in engine plays.
                "env": {"SPECRAIL_LAB_CLOCK": "10", "VLLM_LOG_STATS_INTERVAL": "10"},
                "secrets": {"VLLM_API_KEY": f"file:{layout.secrets / 'api-key'}"},
                "start_timeout_s": 60,
                "stop_timeout_s": 10,
            },
            "gate": {"prompts": 50, "max_tokens": 32, "timeout_s": 120},
            "bench": {"prompts": 50, "max_tokens": 32, "warmup": 1, "timeout_s": 120},
        },
        "groups": {GROUP: {"hosts": ["ct129", "ct130"]}},
        "nodes": {NODE: node},
        "hosts": {
            "ct129": {
                **_host(layout, ports, 129, 0, _static(bed), bed, gpus=[0, 1]),
                "engine": {"source": "pr:40898"},
                **_model(layout, 129, "Qwen3.6-27B", "Qwen3.6-27B-DFlash", bed, tokens=15),
            },
            "ct130": {
                **_host(layout, ports, 130, 1, {"ip": "dhcp"}, bed, gpus=[2]),
                "engine": {"source": f"commit:{engine.main}"},  # tagged v0.20.1
                **_model(layout, 130, "Qwen3-8B", "Qwen3-8B-DFlash-b16", bed, tokens=15),
            },
        },
    }


def change(inventory: Path, changes: Changes, to: Path) -> None:
    """Write an inventory with these values to `to`."""
    found = yaml.safe_load(inventory.read_text(encoding="utf-8"))
    for path, value in changes.items():
        *parents, last = path.split(".")
        place = found
        for parent in parents:
            place = place.setdefault(parent, {})
        if value is None:
            del place[last]
        else:
            place[last] = value
    to.write_text(yaml.safe_dump(found, sort_keys=False), encoding="utf-8")


def _paths(home: Path) -> dict[str, str]:
    return {
        "root": str(home / "opt/specrail"),
        "logs": str(home / "var/log/specrail"),
        "procfs": str(home / "proc"),
        "dev": str(home / "dev"),
    }


def _static(bed: Bed | None) -> dict[str, str]:
    if bed is None:
        return {"ip": "192.0.2.129/24", "gateway": "192.0.2.1"}
    network = bed.network
    return {"ip": network.with_prefix(network.container(0)), "gateway": network.bridge}


def _host(
    layout: Layout, ports: Ports, ctid: int, slot: int, net: dict[str, str], bed: Bed | None, *, gpus: list[int]
) -> dict[str, Any]:
    container = {"ctid": ctid, "net": {"bridge": "vmbr0", **net}, "gpus": {"indices": gpus}}
    key = {"user": "root", "key": str(layout.login_key)}
    if bed:
        return {"container": container, "ssh": key, "server": {"tensor_parallel": len(gpus)}}
    return {
        "container": container,
        "ssh": {"host": "127.0.0.1", "port": ports.container_ssh(slot), **key},
        "paths": _paths(layout.container(ctid)),
        "server": {"port": ports.server(slot), "tensor_parallel": len(gpus)},
    }


def _model(layout: Layout, ctid: int, target: str, drafter: str, bed: Bed | None, *, tokens: int) -> dict[str, Any]:
    models = (Path("/") if bed else layout.container(ctid)) / "mnt/models"
    return {
        "model": {"path": str(models / target), "served_name": target},
        "drafter": {
            "method": "dflash",
            "path": str(models / drafter),
            "tokens": tokens,
            "repository": f"z-lab/{drafter}",
        },
    }
