"""Plain paramiko and proxmoxer against a lab: what any client would do, without specrail's own lines."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko
from proxmoxer import ProxmoxAPI

from tests.lab.ground import Lab
from tests.lab.node_api import TEMPLATE, TOKEN

PATIENCE_S = 10


@dataclass(frozen=True)
class Said:
    """What a command said. status is -1 when it ended by a signal."""

    status: int
    out: str
    err: str


class AnyHostKey(paramiko.MissingHostKeyPolicy):
    """The tests' own machine is trusted."""

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        pass


def api(lab: Lab, *, as_root: bool = False, timeout_s: float = PATIENCE_S) -> ProxmoxAPI:
    """The node's API with the token, or with root's password."""
    login: dict[str, str] = {"user": "root@pam", "password": (lab.layout.secrets / "root-password").read_text()}
    if not as_root:
        user, _, name = TOKEN.partition("!")
        login = {"user": user, "token_name": name, "token_value": (lab.layout.secrets / "token").read_text()}
    port = int(lab.status()["api"]["url"].rpartition(":")[2])
    return ProxmoxAPI("127.0.0.1", port=port, verify_ssl=str(lab.layout.ca), timeout=timeout_s, **login)


def finish(proxmox: ProxmoxAPI, upid: str) -> str:
    """Wait for a task and return how it ended."""
    found: dict[str, Any] = {}
    eventually(lambda: found.update(proxmox.nodes("pve1").tasks(upid).status.get()) or "exitstatus" in found)
    return str(found["exitstatus"])


def create(lab: Lab, ctid: int = 129, *, as_root: bool = False, **more: Any) -> None:
    """A container as a deploy creates it, stopped."""
    proxmox = api(lab, as_root=as_root)
    wanted: dict[str, Any] = {
        "vmid": ctid,
        "ostemplate": f"local:vztmpl/{TEMPLATE}",
        "hostname": f"ct{ctid}",
        "rootfs": "local-lvm:64",
        "net0": "name=eth0,bridge=vmbr0,ip=dhcp",
        "features": "nesting=1",
        "pool": "llm",
        "ssh-public-keys": public_key(lab),
        **more,
    }
    assert finish(proxmox, proxmox.nodes("pve1").lxc.post(**wanted)) == "OK"


def start(lab: Lab, ctid: int = 129) -> None:
    """Start a container and wait until its sshd listens."""
    lab.start(ctid)
    eventually(lambda: lab.status()["containers"][f"ct{ctid}"]["ssh"] == "open")


def public_key(lab: Lab) -> str:
    """The login key's public half."""
    return Path(f"{lab.layout.login_key}.pub").read_text()


def login(port: int, key: Path, *, host_key: str | None = None) -> paramiko.SSHClient:
    """An ssh connection; refuses every host key but the one that is given, if one is."""
    client = paramiko.SSHClient()
    if host_key is None:
        client.set_missing_host_key_policy(AnyHostKey())
    else:
        entry = paramiko.hostkeys.HostKeyEntry.from_line(f"[127.0.0.1]:{port} {host_key}")
        assert entry is not None
        assert entry.key is not None
        client.get_host_keys().add(f"[127.0.0.1]:{port}", entry.key.get_name(), entry.key)
    try:
        client.connect(
            "127.0.0.1",
            port,
            username="root",
            key_filename=str(key),
            allow_agent=False,
            look_for_keys=False,
            timeout=PATIENCE_S,
            banner_timeout=PATIENCE_S,
        )
    except BaseException:
        client.close()
        raise
    return client


def node(lab: Lab) -> paramiko.SSHClient:
    """The node's root shell."""
    return login(lab.status()["node"]["ssh_port"], lab.layout.login_key)


def inside(lab: Lab, ctid: int = 129) -> paramiko.SSHClient:
    """The container's sshd."""
    return login(lab.status()["containers"][f"ct{ctid}"]["ssh_port"], lab.layout.login_key)


def run(client: paramiko.SSHClient, command: str, stdin: bytes = b"") -> Said:
    """One exec request to its end."""
    write, out, err = client.exec_command(command, timeout=PATIENCE_S)
    write.write(stdin)
    write.flush()
    write.channel.shutdown_write()
    said, complained = out.read().decode(), err.read().decode()
    return Said(out.channel.recv_exit_status(), said, complained)


def eventually(true: Callable[[], object]) -> None:
    """Wait until something is so, at most PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it did not become so"
        time.sleep(0.01)
