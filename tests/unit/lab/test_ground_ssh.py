"""A container's and the node's ssh behave like an OpenSSH server."""

import contextlib
import socket
from pathlib import Path

import asyncssh
import paramiko
import pytest

from tests.lab.ground import Lab
from tests.unit.lab import clients
from tests.unit.lab.clients import eventually, run


def test_a_command_gets_its_stdin_and_returns_output_errors_and_status(inside: paramiko.SSHClient) -> None:
    said = run(inside, "cat; echo wrong >&2; exit 7", stdin=b"some text")
    assert (said.status, said.out, said.err) == (7, "some text", "wrong\n")


def test_megabytes_pass_through_in_both_directions_unchanged(inside: paramiko.SSHClient) -> None:
    content = bytes(range(256)) * 4096 * 3
    write, out, _ = inside.exec_command("cat > big; sha256sum < big; wc -c < big; cat big >&2")
    write.write(content)
    write.channel.shutdown_write()
    errors = b""
    while chunk := out.channel.recv_stderr(1 << 16):
        errors += chunk
    assert out.read().decode().split()[-1] == str(len(content))
    assert errors == content


def test_a_command_that_reads_late_gets_all_of_its_input(inside: paramiko.SSHClient) -> None:
    content = b"x" * 1_000_000
    assert run(inside, "sleep 0.1; wc -c", stdin=content).out == f"{len(content)}\n"


def test_input_that_nobody_reads_does_not_hang_the_command(inside: paramiko.SSHClient) -> None:
    _, out, _ = inside.exec_command("exit 3")
    assert out.channel.recv_exit_status() == 3
    write, out, _ = inside.exec_command("true")
    with contextlib.suppress(OSError):  # what is not taken any more is refused
        write.write(b"x" * 10_000_000)
    assert out.channel.recv_exit_status() == 0


def test_commands_find_the_container_not_this_machine(shared: Lab, inside: paramiko.SSHClient) -> None:
    home = shared.layout.container(129)
    said = run(inside, 'echo "$HOME $(pwd) $TMPDIR"; hostname; which nvidia-smi df python3')
    assert said.out.splitlines() == [
        f"{home}/root {home}/root {home}/tmp",
        "ct129",
        *(f"{home}/bin/{name}" for name in ("nvidia-smi", "df", "python3")),
    ]


def test_a_daemon_outlives_its_session_and_ends_with_the_container(running: Lab) -> None:
    with clients.inside(running) as client:
        assert run(client, "setsid sleep 300 </dev/null >/dev/null 2>&1 &").status == 0
    assert [process.argv for process in running.processes(129)] == [("sleep", "300")]
    running.stop(129)
    assert running.processes(129) == []


def test_a_dead_daemon_is_no_zombie(shared: Lab, inside: paramiko.SSHClient) -> None:
    pid = run(inside, "setsid sleep 300 </dev/null >/dev/null 2>&1 & echo $!").out.strip()
    assert shared.kill(129, "sleep 300") == 1
    eventually(lambda: run(inside, f"kill -0 {pid}").status != 0)


def test_a_background_process_that_keeps_stdout_keeps_the_session_open(inside: paramiko.SSHClient) -> None:
    _, out, _ = inside.exec_command("sleep 300 & echo $!")
    pid = out.readline().strip()
    assert not out.channel.exit_status_ready()
    run(inside, f"kill {pid}")
    assert out.channel.recv_exit_status() == 0


def test_a_command_lives_on_when_the_line_breaks(running: Lab) -> None:
    with clients.inside(running) as client:
        client.exec_command("sleep 0.1; touch finished; sleep 300")
        eventually(lambda: running.processes(129))
    eventually((running.layout.container(129) / "root/finished").exists)
    running.stop(129)


def test_only_a_key_of_the_create_call_opens_the_container(shared: Lab, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(str(stranger))
    port = shared.status()["containers"]["ct129"]["ssh_port"]
    with pytest.raises(paramiko.AuthenticationException):
        clients.login(port, stranger)


def test_passwords_open_nothing(shared: Lab) -> None:
    port = shared.status()["containers"]["ct129"]["ssh_port"]
    with paramiko.SSHClient() as client:
        client.set_missing_host_key_policy(clients.AnyHostKey())
        with pytest.raises(paramiko.BadAuthenticationType):
            client.connect("127.0.0.1", port, username="root", password="x", allow_agent=False, look_for_keys=False)


def test_a_tunnel_reaches_the_container_and_nothing_else(shared: Lab, inside: paramiko.SSHClient) -> None:
    transport = inside.get_transport()
    assert transport is not None
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        transport.open_channel("direct-tcpip", listener.getsockname(), ("127.0.0.1", 1)) as tunnel,
    ):
        tunnel.sendall(b"hello")
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.recv(5) == b"hello"
    with pytest.raises(paramiko.ChannelException):
        transport.open_channel("direct-tcpip", ("192.0.2.1", 80), ("127.0.0.1", 1))


def test_host_keys_are_learnt_through_the_node_and_are_new_after_a_re_creation(
    running: Lab, node: paramiko.SSHClient
) -> None:
    ask = "pct exec 129 -- cat /etc/ssh/ssh_host_ed25519_key.pub"
    port = running.status()["containers"]["ct129"]["ssh_port"]
    first = run(node, ask).out
    assert first.startswith("ssh-ed25519 ")
    assert first.endswith(" root@ct129\n")
    key = " ".join(first.split()[:2])
    clients.login(port, running.layout.login_key, host_key=key).close()
    running.stop(129)
    assert run(node, "pct destroy 129").status == 0
    clients.create(running)
    clients.start(running)
    assert run(node, ask).out != first
    with pytest.raises(paramiko.BadHostKeyException):
        clients.login(port, running.layout.login_key, host_key=key)


def test_connections_and_exec_requests_are_counted_by_machine(shared: Lab, node: paramiko.SSHClient) -> None:
    before = shared.traffic()
    with clients.inside(shared) as client:
        run(client, "true")
        run(client, "true")
    run(node, "pct exec 129 -- true")
    came = shared.traffic().since(before)
    assert came.connections == {"ct129": 1}
    assert came.execs == {"ct129": 2, "pve1": 1}
    assert (came.api_reads, came.api_writes) == (0, 0)
