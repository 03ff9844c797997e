"""Proxmox's own published schema as a judge of requests."""

import pytest

from tests.lab.published import VERSIONS, Published

CREATE = {
    "vmid": "129",
    "ostemplate": "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst",
    "hostname": "ct129",
    "cores": "8",
    "memory": "16384",
    "rootfs": "local-lvm:64",
    "net0": "name=eth0,bridge=vmbr0,ip=dhcp",
    "mp0": "/tank/models,mp=/models,ro=1",
    "unprivileged": "1",
    "tags": "specrail",
}
GOOD = [
    ("GET", "/cluster/nextid", {"vmid": "129"}),
    ("POST", "/nodes/pve1/lxc", CREATE),
    ("PUT", "/nodes/pve1/lxc/129/config", {"digest": "0" * 40, "cores": "4", "delete": "mp0"}),
    ("GET", "/nodes/pve1/tasks/UPID:pve1:00000A:00:00:vzcreate:129:llm@pve!deploy:/log", {"start": "0", "limit": "50"}),
]
BAD = {
    "an unknown parameter": ("POST", "/nodes/pve1/lxc", {**CREATE, "corse": "8"}, "corse"),
    "a missing one": ("POST", "/nodes/pve1/lxc", {"vmid": "129"}, "ostemplate is missing"),
    "a word for a number": ("POST", "/nodes/pve1/lxc", {**CREATE, "cores": "many"}, "cores='many'"),
    "a number that is too large": ("POST", "/nodes/pve1/lxc", {**CREATE, "cores": "9000"}, "cores='9000'"),
    "True as Python writes it": ("POST", "/nodes/pve1/lxc", {**CREATE, "unprivileged": "True"}, "not 0 or 1"),
    "an unknown key of a property string": (
        "POST",
        "/nodes/pve1/lxc",
        {**CREATE, "net0": "name=eth0,brigde=x"},
        "brigde",
    ),
    "a property string without its key": (
        "POST",
        "/nodes/pve1/lxc",
        {**CREATE, "mp0": "/tank/models,ro=1"},
        "mp is missing",
    ),
    "a value twice": ("POST", "/nodes/pve1/lxc", {**CREATE, "net0": "name=eth0,name=eth1"}, "twice"),
    "a method that is not there": ("POST", "/nodes/pve1/lxc/129/config", {}, "no such method"),
    "a path that is not there": ("GET", "/nodes/pve1/lcx", {}, "no such method"),
    "a container number that is none": ("GET", "/nodes/pve1/lxc/ct129/config", {}, "vmid='ct129'"),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("method", "path", "params"), GOOD)
def test_what_proxmox_takes_has_no_complaint(version: str, method: str, path: str, params: dict[str, str]) -> None:
    assert list(Published(version).complaints(method, path, params)) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", BAD)
def test_what_proxmox_refuses_has_one_that_names_it(version: str, case: str) -> None:
    method, path, params, named = BAD[case]
    assert [named in complaint for complaint in Published(version).complaints(method, path, params)] == [True]
