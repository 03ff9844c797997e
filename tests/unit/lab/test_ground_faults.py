"""Each fault shows at the place where a client meets it, and is gone when it is switched off."""

import urllib.error
import urllib.request
from typing import Any

import paramiko
import pytest
import requests
from proxmoxer.core import ResourceException

from inventory.errors import UsageError
from tests.lab.faults import Faults
from tests.lab.ground import Lab
from tests.unit.lab import clients
from tests.unit.lab.clients import api, create, finish, run

_WRITER = """
import sys
log = open('log', 'ab', 0)
for line in sys.stdin:
    try:
        print(log.write(b'x'), flush=True)
    except OSError as error:
        print(error.strerror, flush=True)
"""


def test_the_api_can_be_down(fresh: Lab) -> None:
    line = api(fresh)
    fresh.fault("api-down")
    with pytest.raises(requests.ConnectionError):
        line.version.get()
    fresh.fault("api-down", on=False)
    assert line.version.get()["release"] == "9.0"


def test_the_api_can_be_slow(fresh: Lab) -> None:
    line = api(fresh, timeout_s=0.1)
    assert line.version.get()
    fresh.fault("api-slow", seconds=60)
    with pytest.raises(requests.Timeout):
        line.version.get()


def test_the_api_can_cut_requests_off(fresh: Lab) -> None:
    fresh.fault("api-flaky", drop_rate=1)
    with pytest.raises(requests.ConnectionError):
        api(fresh).version.get()


def test_the_api_can_stumble_a_number_of_times(fresh: Lab) -> None:
    fresh.fault("api-error", path="/version", status=596, message="Broken pipe", times=1)
    with pytest.raises(ResourceException, match=r"596 .*Broken pipe"):
        api(fresh).version.get()
    assert api(fresh).version.get()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("token-refused", "401 .*authentication failure"),
        ("quorum-lost", "500 .*cluster not ready - no quorum?"),
        ("node-offline", "595 .*No route to host"),
        ("ct-locked", "500 .*CT is locked \\(backup\\)"),
    ],
)
def test_a_write_can_be_refused(fresh: Lab, fault: str, words: str) -> None:
    create(fresh)
    fresh.fault(fault)
    config = api(fresh).nodes("pve1").lxc(129).config
    with pytest.raises(ResourceException, match=words):
        config.put(memory=1024)
    fresh.fault(fault, on=False)
    config.put(memory=1024)
    assert config.get()["memory"] == 1024


def test_a_lock_can_be_lifted_on_the_node(fresh: Lab, node: paramiko.SSHClient) -> None:
    create(fresh)
    fresh.fault("ct-locked", ctid=129, lock="snapshot")
    assert run(node, "pct set 129 --memory 1024").err == "CT is locked (snapshot)\n"
    assert run(node, "pct unlock 129 && pct set 129 --memory 1024").status == 0


def test_a_start_can_fail(fresh: Lab) -> None:
    create(fresh)
    fresh.fault("start-fails", message="startup for container '129' failed")
    line = api(fresh)
    assert finish(line, line.nodes("pve1").lxc(129).status.start.post()) == "startup for container '129' failed"


def test_the_nodes_ssh_can_be_down(fresh: Lab) -> None:
    fresh.fault("node-ssh-down")
    with pytest.raises(paramiko.ssh_exception.NoValidConnectionsError):
        clients.node(fresh)
    fresh.fault("node-ssh-down", on=False)
    clients.node(fresh).close()


def test_the_containers_network_can_go_and_breaks_what_is_open(shared: Lab, inside: paramiko.SSHClient) -> None:
    _, out, _ = inside.exec_command("sleep 300")
    shared.fault("ssh-down", ctid=129)
    assert out.channel.recv_exit_status() == -1
    with pytest.raises(paramiko.ssh_exception.NoValidConnectionsError):
        clients.inside(shared)


def test_ssh_can_accept_and_never_answer(shared: Lab, inside: paramiko.SSHClient) -> None:
    shared.fault("ssh-frozen", ctid=129)
    port = shared.status()["containers"]["ct129"]["ssh_port"]
    with paramiko.SSHClient() as client, pytest.raises(paramiko.SSHException, match="banner"):
        client.connect("127.0.0.1", port, banner_timeout=0.1)
    _, out, _ = inside.exec_command("echo thawed")
    assert not out.channel.recv_ready()
    shared.fault("ssh-frozen", ctid=129, on=False)
    assert out.read() == b"thawed\n"


def test_a_disk_can_be_full_and_be_emptied(shared: Lab, inside: paramiko.SSHClient) -> None:
    run(inside, "echo before > kept")
    shared.fault("disk-full", ctid=129)
    assert run(inside, "df -Pk . | awk 'NR == 2 { print $4, $5 }'").out == "0 100%\n"
    full = run(inside, "printf more | tee -a kept >/dev/null; cat kept")
    assert (full.out, full.err) == ("before\n", "tee: kept: File too large\n")
    shared.fault("disk-full", ctid=129, on=False)
    assert run(inside, "echo more >> kept; cat kept").out == "before\nmore\n"
    assert int(run(inside, "df -B1 --output=avail . | tail -n1").out) > 10**10


def test_a_full_disk_stops_the_writing_of_what_runs_already_without_killing_it(
    shared: Lab, inside: paramiko.SSHClient
) -> None:
    write, out, _ = inside.exec_command(f'python3 -c "{_WRITER}"')
    said = []
    for on in (False, True, False):
        shared.fault("disk-full", ctid=129, on=on)
        write.write("go\n")
        write.flush()
        said.append(out.readline())
    assert said == ["1\n", "File too large\n", "1\n"]


def test_a_stranger_can_have_the_servers_port(shared: Lab) -> None:
    shared.fault("port-taken", ctid=129)
    port = shared.status()["containers"]["ct129"]["server_port"]
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
    with caught.value as answer:
        assert (answer.code, answer.headers["Server"]) == (404, "nginx")
    shared.fault("port-taken", ctid=129, on=False)
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)


@pytest.mark.parametrize(
    ("fault", "arguments", "status", "words"),
    [
        ("gpu-mismatch", {"ctid": 129, "version": "565.57.01"}, 18, "Driver/library version mismatch"),
        ("gpu-lost", {"index": 0}, 15, "GPU is lost"),
        ("vram-held", {"index": 0, "mib": 30000}, 0, "30001MiB / 49140MiB"),
    ],
)
def test_gpus_can_be_in_trouble(
    running: Lab,
    inside: paramiko.SSHClient,
    node: paramiko.SSHClient,
    fault: str,
    arguments: dict[str, Any],
    status: int,
    words: str,
) -> None:
    run(node, "pct set 129 --dev0 /dev/nvidia0 --dev1 /dev/nvidiactl")
    healthy = run(inside, "nvidia-smi")
    assert (healthy.status, words in healthy.out) == (0, False)
    running.fault(fault, **arguments)
    said = run(inside, "nvidia-smi")
    assert said.status == status
    assert words in said.out
    running.fault(fault, on=False, **arguments)
    assert run(inside, "nvidia-smi") == healthy


def test_a_reset_heals_everything(running: Lab) -> None:
    for name in Faults.catalogue():
        running.fault(name)
    assert len(running.status()["faults"]) == len(Faults.catalogue())
    running.reset()
    assert running.status()["faults"] == []
    create(running)
    clients.start(running)
    clients.inside(running).close()


def test_an_unknown_fault_or_argument_is_a_usage_error(fresh: Lab) -> None:
    with pytest.raises(UsageError, match="earthquake"):
        fresh.fault("earthquake")
    with pytest.raises(UsageError, match="colour"):
        fresh.fault("api-down", colour="red")
    with pytest.raises(UsageError, match="no container 555"):
        fresh.fault("ssh-down", ctid=555)
    with pytest.raises(UsageError, match="no container 555"):
        fresh.fault("ct-locked", ctid=555)
