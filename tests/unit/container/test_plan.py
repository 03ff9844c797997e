"""Plans are decisions: what is wanted and what is there in, steps out. One file a case."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from fakepve.lxc import normalise
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import PreflightError
from inventory.models import Container
from roles.container.facts import ContainerFacts
from roles.container.node import NodeFacts
from roles.container.plan import plan
from roles.container.steps import Attach, Create, Resize, Update
from roles.step import Step

CASES = {
    path.stem: json.loads(path.read_text())
    for path in (Path(__file__).parents[2] / "cases/container/plan").glob("*.json")
}
BASE_WANT = {"ctid": 129, "template": "local:vztmpl/ubuntu-24.04-standard_24.04-2_amd64.tar.zst"}
BASE_NODE = {"pve": [9, 0, 10], "driver": "570.148.06", "has_pct": True}
DEVICES = dict.fromkeys(("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"), "device")
BASE_CONFIG = {
    "arch": "amd64",
    "cores": "8",
    "description": "Made by specrail\n\nspecrail host: ct129\nspecrail template: local:vztmpl/ubuntu-24.04-standard_24.04-2_amd64.tar.zst\n",
    "features": "nesting=1",
    "hostname": "ct129",
    "memory": "32768",
    "net0": "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,ip=dhcp,type=veth",
    "onboot": "1",
    "ostype": "ubuntu",
    "rootfs": "local-lvm:vm-129-disk-0,size=64G",
    "swap": "0",
    "tags": "specrail",
    "unprivileged": "1",
}


def inputs(case: dict[str, Any]) -> dict[str, Any]:
    """A case names only what is special: `want` and `have.config` are laid over a container that is as wanted."""
    have = case.get("have", {"status": "running"})
    there = have.get("status") is not None
    config = {**BASE_CONFIG, **have.get("config", {})} if there else {}
    return {
        "name": case.get("name", "ct129"),
        "want": Container(**{**BASE_WANT, **case.get("want", {})}),
        "have": ContainerFacts(
            **{
                "ctid": 129,
                "digest": "d1" if there else None,
                **have,
                "config": {key: value for key, value in config.items() if value is not None},
            }
        ),
        "node": NodeFacts(
            **{
                **BASE_NODE,
                "devices": DEVICES,
                **case.get("node", {}),
                "pve": tuple(case.get("node", {}).get("pve", BASE_NODE["pve"])),
            }
        ),
        "public_key": case.get("public_key"),
        "adopt": case.get("adopt", False),
    }


def shown(step: Step) -> dict[str, Any]:
    """A step as a case writes it: its kind and payload, without what every step of a case has."""
    fields = {"step": type(step).__name__, **dataclasses.asdict(step)}
    for key in ("role", "ctid", "seen", "action"):
        fields.pop(key, None)
    plain: dict[str, Any] = json.loads(json.dumps(fields))
    return plain


@pytest.mark.parametrize("name", sorted(CASES))
def test_plan(name: str) -> None:
    case = CASES[name]
    if "refused" in case:
        with pytest.raises(PreflightError) as refused:
            plan(**inputs(case))
        assert [refused.value.what, *refused.value.why] == case["refused"]
        assert list(refused.value.tries) == case["tries"]
    else:
        steps = plan(**inputs(case))
        assert [shown(step) for step in steps] == case["steps"]
        assert {step.role for step in steps} == {"container"}


# ---------------------------------------------------------------- properties

FEATURE = st.sampled_from(["nesting", "keyctl", "fuse", "mknod"])
WANT = st.fixed_dictionaries(
    {
        "cores": st.integers(1, 64),
        "memory_mib": st.integers(16, 1 << 20),
        "rootfs_gib": st.integers(64, 512),
        "features": st.lists(FEATURE, unique=True),
        "nameserver": st.none() | st.just("10.1.230.1"),
        "tags": st.lists(st.sampled_from(["specrail", "gpu", "zeta"]), unique=True),
        "net": st.fixed_dictionaries(
            {
                "bridge": st.sampled_from(["vmbr0", "vmbr1"]),
                "ip": st.sampled_from(["dhcp", "10.1.230.172/24"]),
                "ip6": st.sampled_from(["none", "auto", "2001:db8::3/64"]),
                "tag": st.none() | st.integers(1, 4094),
                "firewall": st.booleans(),
            }
        ),
        "mounts": st.lists(
            st.builds(
                lambda target, source, read_only: {"source": source, "target": target, "read_only": read_only},
                st.sampled_from(["/models", "/cache"]),
                st.sampled_from(["/tank/a", "/tank/b"]),
                st.booleans(),
            ),
            unique_by=lambda mount: mount["target"],
        ),
        "gpus": st.fixed_dictionaries(
            {"indices": st.lists(st.integers(0, 1), unique=True), "mode": st.sampled_from(["0666", "0660"])}
        ),
    }
)
NOISE = st.fixed_dictionaries(
    {},
    optional={
        "description": st.just("by hand"),
        "hookscript": st.just("local:snippets/x.pl"),
        "net1": st.just("name=eth1,bridge=vmbr9,hwaddr=BC:24:11:00:00:09,type=veth"),
        "features": st.sampled_from(["mount=nfs,nesting=1", "keyctl=1", "nesting=0"]),
        "tags": st.just("Prod;specrail"),
        "dev0": st.sampled_from(["/dev/net/tun", "/dev/nvidia1,gid=44", "/dev/nvidiactl,mode=0600"]),
        "dev3": st.just("/dev/nvidia0,mode=0666"),
        "mp1": st.sampled_from(["local-lvm:vm-129-disk-1,mp=/data,size=8G", "/tank/a,mp=/models,ro=1,backup=0"]),
        "net0": st.just(
            "name=eth7,bridge=vmbr0,gw=10.1.230.1,hwaddr=bc:24:11:00:00:01,ip=10.1.230.9/24,rate=100,type=veth"
        ),
    },
)


def carried_out(config: dict[str, str], steps: list[Step]) -> dict[str, str]:
    """What a config is after the steps, written as PVE writes it."""
    config = dict(config)
    for step in steps:
        if isinstance(step, Update):
            config |= {key: str(value) for key, value in step.fields.items()}
            config = {key: value for key, value in config.items() if key not in step.delete}
        elif isinstance(step, Attach):
            options = dict(zip(step.argv[3::2], step.argv[4::2], strict=True))
            gone = options.pop("--delete", "").split(",")
            config |= {key.removeprefix("--"): value for key, value in options.items()}
            config = {key: value for key, value in config.items() if key not in gone}
        elif isinstance(step, Resize):
            config["rootfs"] = f"local-lvm:vm-129-disk-0,size={step.size_gib}G"
    return {key: str(normalise(key, value)) for key, value in config.items()}


@given(want=WANT, noise=NOISE, running=st.booleans())
def test_a_plan_that_was_carried_out_leaves_nothing_to_do(
    want: dict[str, Any], noise: dict[str, str], running: bool
) -> None:
    """Whatever is wanted and whatever stands in the config: the second plan changes nothing, and takes nothing of others."""
    status = "running" if running else "stopped"
    first = inputs({"want": want, "have": {"status": status, "config": noise}})
    after = carried_out(dict(first["have"].config), plan(**first))
    second = inputs({"want": want, "have": {"status": "running", "config": {**dict.fromkeys(BASE_CONFIG), **after}}})
    assert [step.summary for step in plan(**second) if step.changes] == []
    for key in ("hookscript", "net1"):
        assert after.get(key) == noise.get(key)
    if "/dev/net/tun" in noise.values():
        assert "/dev/net/tun" in after.values()
    if "mount=nfs" in noise.get("features", ""):
        assert "mount=nfs" in after["features"]


@given(want=WANT)
def test_a_created_container_is_as_wanted(want: dict[str, Any]) -> None:
    """What the create call and the root shell set together is all that is wanted."""
    nothing_there = inputs({"want": want, "have": {"status": None}})
    steps = plan(**nothing_there)
    create = next(step for step in steps if isinstance(step, Create))
    made = {key: str(value) for key, value in create.fields.items() if key not in {"vmid", "ostemplate", "pool"}}
    made["rootfs"] = f"local-lvm:vm-129-disk-0,size={want['rootfs_gib']}G"
    after = carried_out(made, steps)
    again = inputs({"want": want, "have": {"status": "running", "config": {**dict.fromkeys(BASE_CONFIG), **after}}})
    assert [step.summary for step in plan(**again) if step.changes] == []
