"""The node's API and its root shell: what a token may do, what only root may, and what the container then has."""

import paramiko
import pytest
from proxmoxer.core import ResourceException

from tests.lab.ground import Lab
from tests.unit.lab import clients
from tests.unit.lab.clients import api, create, eventually, finish, run


def test_a_token_creates_starts_stops_and_destroys_a_container(fresh: Lab) -> None:
    create(fresh)
    container = api(fresh).nodes("pve1").lxc(129)
    assert container.status.current.get()["status"] == "stopped"
    assert finish(api(fresh), container.status.start.post()) == "OK"
    eventually(lambda: fresh.status()["containers"]["ct129"]["ssh"] == "open")
    assert finish(api(fresh), container.status.stop.post()) == "OK"
    assert fresh.status()["containers"]["ct129"]["ssh"] == "closed"
    assert finish(api(fresh), container.delete()) == "OK"
    assert not fresh.layout.container(129).exists()


def test_the_token_lacks_what_it_or_its_user_was_not_granted(fresh: Lab) -> None:
    rights = api(fresh).access.permissions.get()
    assert rights["/pool/llm"]["VM.Allocate"] == 1
    assert "/" not in rights
    with pytest.raises(ResourceException, match="403"):
        api(fresh).nodes("pve1").lxc.post(vmid=131, ostemplate="local:vztmpl/x.tar.zst", rootfs="local-lvm:8")


def test_devices_are_refused_to_the_token_and_set_by_the_root_shell(fresh: Lab, node: paramiko.SSHClient) -> None:
    create(fresh)
    with pytest.raises(ResourceException, match="configuring device passthrough is only allowed for root@pam"):
        api(fresh).nodes("pve1").lxc(129).config.put(dev0="/dev/nvidia0")
    assert run(node, "pct set 129 --dev0 /dev/nvidia0,mode=0666 -dev1 /dev/nvidiactl").status == 0
    assert dict(api(fresh).nodes("pve1").lxc(129).config.get())["dev0"] == "/dev/nvidia0,mode=0666"
    clients.start(fresh)
    devices = fresh.layout.container(129) / "dev"
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in devices.iterdir()} == {
        "nvidia0": "0o666",
        "nvidiactl": "0o660",
    }


@pytest.mark.parametrize(
    ("device", "words"),
    [("/dev/nvidia9", "Device /dev/nvidia9 does not exist"), ("/dev/nvidia-caps", "/dev/nvidia-caps is not a device")],
)
def test_a_device_that_the_node_does_not_have_is_refused(
    fresh: Lab, node: paramiko.SSHClient, device: str, words: str
) -> None:
    create(fresh)
    said = run(node, f"pct set 129 --dev0 {device}")
    assert (said.status, said.err) == (255, f"{words}\n")


def test_a_device_that_has_gone_keeps_the_container_from_starting(fresh: Lab, node: paramiko.SSHClient) -> None:
    create(fresh)
    run(node, "pct set 129 --dev0 /dev/nvidia2")
    fresh.gpu(gpus=fresh.gpu()["gpus"][:2])
    proxmox = api(fresh)
    assert finish(proxmox, proxmox.nodes("pve1").lxc(129).status.start.post()) == "Device /dev/nvidia2 does not exist"


def test_a_bind_mount_shows_the_nodes_folder_and_prevents_snapshots(fresh: Lab, node: paramiko.SSHClient) -> None:
    create(fresh)
    assert run(node, "pct set 129 --mp0 /tank/models,mp=/mnt/models,ro=1").status == 0
    clients.start(fresh)
    assert (fresh.layout.container(129) / "mnt/models/Qwen3.6-27B/config.json").is_file()
    proxmox = api(fresh)
    snapshot = proxmox.nodes("pve1").lxc(129).snapshot.post(snapname="before")
    assert finish(proxmox, snapshot) == "snapshot feature is not available"


def test_a_new_device_reaches_a_running_container(running: Lab, node: paramiko.SSHClient) -> None:
    assert run(node, "pct set 129 --dev0 /dev/nvidia1").status == 0
    assert (running.layout.container(129) / "dev/nvidia1").exists()


def test_a_running_engine_holds_most_of_its_gpus_memory(running: Lab, node: paramiko.SSHClient) -> None:
    run(node, "pct set 129 --dev0 /dev/nvidia1 --dev1 /dev/nvidia2 --dev2 /dev/nvidiactl")
    used = "nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits"
    with clients.inside(running) as inside:
        assert run(inside, used).out.split() == ["1", "1"]
        run(inside, "setsid sh -c 'sleep 300; :' serve --tensor-parallel-size 1 </dev/null >/dev/null 2>&1 &")
        eventually(lambda: run(inside, used).out.split() == ["44227", "1"])
    assert run(node, used).out.split() == ["1", "44227", "1"]


def test_pct_speaks_as_on_a_real_node(running: Lab, node: paramiko.SSHClient) -> None:
    assert run(node, "pct status 129").out == "status: running\n"
    assert "features: nesting=1\n" in run(node, "pct config 129").out
    assert run(node, "pct list").out.splitlines()[1].split() == ["129", "running", "ct129"]
    assert run(node, "pct start 129").err == "CT 129 already running\n"
    assert run(node, "pct status 999").err == "Configuration file 'nodes/pve1/lxc/999.conf' does not exist\n"
    wrong = run(node, "pct set 129 --memry 5")
    assert wrong.status == 255
    assert wrong.err.startswith("400 Parameter verification failed.\nmemry: property is not defined in schema")
    running.stop(129)
    stopped = run(node, "pct exec 129 -- true")
    assert (stopped.status, stopped.err) == (255, "container '129' not running!\n")


def test_pct_exec_runs_inside_with_stdin_and_status_before_there_is_a_network(
    running: Lab, node: paramiko.SSHClient
) -> None:
    running.fault("ssh-down", ctid=129)
    said = run(node, "pct exec 129 -- sh -c 'cat >> /root/.ssh/authorized_keys; hostname; exit 4'", stdin=b"# a key\n")
    assert (said.status, said.out) == (4, "ct129\n")
    assert (running.layout.container(129) / "root/.ssh/authorized_keys").read_text().endswith("# a key\n")


def test_files_are_pushed_and_pulled_with_their_mode(shared: Lab, node: paramiko.SSHClient) -> None:
    run(node, "printf secret > file")
    assert run(node, 'pct push 129 "$PWD/file" /opt/file --perms 0600').status == 0
    pushed = shared.layout.container(129) / "opt/file"
    assert (pushed.read_text(), pushed.stat().st_mode & 0o777) == ("secret", 0o600)
    assert run(node, 'pct pull 129 /opt/file "$PWD/back" && cat back').out == "secret"


def test_the_network_comes_a_moment_after_the_start(fresh: Lab) -> None:
    create(fresh)
    proxmox = api(fresh)
    assert finish(proxmox, proxmox.nodes("pve1").lxc(129).status.start.post()) == "OK"

    def address() -> object:
        return proxmox.nodes("pve1").lxc(129).interfaces.get()[-1].get("inet")

    eventually(lambda: address() == "192.0.2.130/24")
    fresh.fault("ssh-down", ctid=129)
    assert address() is None


def test_a_reboot_has_a_new_boot_id_and_old_processes_are_gone(running: Lab, node: paramiko.SSHClient) -> None:
    boot_id = running.layout.container(129) / "proc/sys/kernel/random/boot_id"
    before = boot_id.read_text()
    run(node, "pct exec 129 -- setsid sleep 300 </dev/null >/dev/null 2>&1 &")
    eventually(lambda: running.processes(129))
    running.reboot(129)
    assert running.processes(129) == []
    assert boot_id.read_text() != before


def test_an_unknown_path_is_not_implemented(fresh: Lab) -> None:
    with pytest.raises(ResourceException, match=r"501.*Method 'GET /nodes/pve1/lxcx' not implemented"):
        api(fresh).nodes("pve1/lxcx").get()


def test_api_requests_are_counted_and_a_login_is_none(fresh: Lab) -> None:
    before = fresh.traffic()
    root = api(fresh, as_root=True)
    root.version.get()
    root.pools.post(poolid="more")
    came = fresh.traffic().since(before)
    assert (came.api_reads, came.api_writes, came.api_logins) == (1, 1, 1)
