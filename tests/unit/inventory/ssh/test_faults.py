"""What happens when the other side hangs, breaks off, or is not the one that is expected."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncssh
import paramiko
import pytest

from inventory.errors import ConnectionLost, DeadlineExceeded, HostKeyError, UnreachableError
from inventory.ssh.known_hosts import HostKeys, parse_key
from inventory.ssh.shell import SshShell
from inventory.wait import wait_for
from tests.unit.inventory.ssh.servers import HOST, SSHD, Relay, Server, asyncssh_server, make_key, openssh, silent

Closing = Callable[[SshShell], SshShell]


@contextmanager
def frozen(shell: SshShell) -> Iterator[None]:
    """Stops the process that serves this shell: the kernel still acknowledges, nobody answers."""
    pid = int(shell.run("cut -d ' ' -f 4 /proc/$$/stat").stdout)  # who started our shell
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_command_that_never_ends_is_ended_at_its_deadline_and_named(shell: SshShell) -> None:
    with pytest.raises(DeadlineExceeded) as caught:
        shell.run("echo started; sleep 20", timeout_s=0.5)
    assert caught.value.where == ("ct129",)
    assert "echo started; sleep 20" in caught.value.what
    assert shell.run("echo still here").stdout == "still here\n"


def test_a_server_that_takes_the_command_and_never_answers_is_left_at_the_deadline(
    faulty_server: Server, closing: Closing
) -> None:
    with pytest.raises(DeadlineExceeded):
        closing(faulty_server.shell()).run("fault-silence", timeout_s=0.3, stdin=bytes(10_000_000))


def test_a_frozen_host_ends_the_call_at_its_deadline_and_the_line_works_again_when_it_thaws(
    openssh_server: Server, closing: Closing
) -> None:
    shell = closing(openssh_server.shell(connect_timeout_s=0.5))
    with frozen(shell), pytest.raises((DeadlineExceeded, UnreachableError)):
        shell.run("echo never", timeout_s=0.5)
    assert shell.run("echo thawed").stdout == "thawed\n"


def test_a_line_that_froze_between_two_commands_is_dialled_anew_because_nothing_was_sent_on_it(
    openssh_server: Server, closing: Closing
) -> None:
    shell = closing(openssh_server.shell(connect_timeout_s=3))
    with frozen(shell):
        assert shell.run("echo on a new line").stdout == "on a new line\n"


def test_a_line_that_takes_no_more_bytes_cannot_hold_the_call(
    server: Server, closing: Closing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even saying goodbye is possible then: the whole line is given up."""
    connect = socket.create_connection

    def with_a_small_buffer(*args: Any, **options: Any) -> socket.socket:
        sock = connect(*args, **options)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return sock

    monkeypatch.setattr(socket, "create_connection", with_a_small_buffer)
    with Relay(server.port) as relay:
        shell = closing(server.shell(port=relay.port))
        with pytest.raises(DeadlineExceeded):
            shell.run("echo; cat > /dev/null", stdin=bytes(64_000_000), timeout_s=1, on_line=lambda _: relay.stall())
        assert shell.run("echo on a new line").stdout == "on a new line\n"
        assert relay.calls == 2


def test_a_host_that_freezes_during_an_upload_cannot_hold_the_call(openssh_server: Server, closing: Closing) -> None:
    shell = closing(openssh_server.shell())

    def freeze(line: str) -> None:
        os.kill(int(line), signal.SIGSTOP)
        pids.append(int(line))

    pids: list[int] = []
    try:
        with pytest.raises(DeadlineExceeded):
            shell.run(
                "cut -d ' ' -f 4 /proc/$$/stat; cat > /dev/null", stdin=bytes(30_000_000), timeout_s=1, on_line=freeze
            )
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def test_an_ear_that_never_speaks_is_unreachable_not_endless(server: Server, closing: Closing) -> None:
    with silent() as port, pytest.raises(UnreachableError, match=r"did not let us in within 0\.3 s"):
        closing(server.shell(port=port, connect_timeout_s=0.3)).run("true")


def test_a_short_deadline_also_bounds_the_dialling(server: Server, closing: Closing) -> None:
    with silent() as port, pytest.raises(UnreachableError, match=r"within 0\.2 s"):
        closing(server.shell(port=port, connect_timeout_s=60)).run("true", timeout_s=0.2)


def test_a_port_where_nobody_listens_says_so_with_something_to_try(server: Server, closing: Closing) -> None:
    with socket.create_server((HOST, 0)) as ear:
        port = ear.getsockname()[1]
    with pytest.raises(UnreachableError) as caught:
        closing(server.shell(port=port)).run("true")
    assert str(caught.value).startswith(f"ct129: {HOST}:{port} cannot be reached: Connection refused")
    assert caught.value.tries == (caught.value.tries[0],)
    assert caught.value.tries[0].startswith("ssh -v -p")


def test_what_answers_but_is_no_ssh_server_is_unreachable(server: Server, closing: Closing) -> None:
    with socket.create_server((HOST, 0)) as ear:

        def speak_http() -> None:
            call, _ = ear.accept()
            ear.close()
            with call:
                call.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        speaker = threading.Thread(target=speak_http, daemon=True)
        speaker.start()
        with pytest.raises(UnreachableError):
            closing(server.shell(port=ear.getsockname()[1], connect_timeout_s=2)).run("true")
        speaker.join()


def test_dialling_is_tried_twice_when_the_server_hangs_up_at_once(server: Server, closing: Closing) -> None:
    with Relay(server.port, cut_after=10) as relay:  # the first call is cut before the handshake
        assert closing(server.shell(port=relay.port)).run("echo in").stdout == "in\n"
        assert relay.calls == 2


def test_a_line_cut_while_a_command_runs_is_lost_and_the_command_is_not_run_again(
    server: Server, closing: Closing, tmp_path: Path
) -> None:
    with Relay(server.port) as relay:
        shell = closing(server.shell(port=relay.port))
        with pytest.raises(ConnectionLost) as caught:
            shell.run(f"echo x >> {tmp_path}/runs; echo on; sleep 20", on_line=lambda _: relay.cut())
        assert "not known" in str(caught.value)
        assert (tmp_path / "runs").read_text() == "x\n"
        assert shell.run("echo on a new line").stdout == "on a new line\n"
        assert relay.calls == 2


def test_a_long_script_of_which_only_a_part_came_is_not_run_in_part(
    server: Server, closing: Closing, tmp_path: Path
) -> None:
    script = f"touch {tmp_path}/begun\n" + "true\n" * 200_000
    with Relay(server.port, cut_after=300_000) as relay, pytest.raises(ConnectionLost):
        closing(server.shell(port=relay.port)).run(script)
    closing(server.shell()).run("true")
    wait_for(lambda: not _loaders() or None, what="the loader to go", timeout_s=20)
    assert not (tmp_path / "begun").exists()


def _loaders() -> list[str]:
    """Shells that still wait for a long script."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(path.read_bytes().decode(errors="replace"))
    return [line for line in lines if "head -c 1000" in line and "did not come whole" in line]


def test_a_line_that_died_between_two_commands_is_dialled_anew_unseen(server: Server, closing: Closing) -> None:
    with Relay(server.port) as relay:
        shell = closing(server.shell(port=relay.port))
        shell.run("true")
        relay.cut()
        assert shell.run("echo fine").stdout == "fine\n"


@pytest.mark.parametrize("fault", ["fault-abort", "fault-no-status"])
def test_a_server_that_breaks_off_without_a_status_leaves_the_outcome_unknown(
    faulty_server: Server, closing: Closing, fault: str
) -> None:
    with pytest.raises(ConnectionLost):
        closing(faulty_server.shell()).run(fault)


def test_another_host_key_than_the_pinned_one_is_refused_before_any_login(
    server: Server, closing: Closing, tmp_path: Path
) -> None:
    other = make_key(tmp_path / "other")
    shell = closing(server.shell(host_keys=HostKeys(pinned=other)))
    with pytest.raises(HostKeyError) as caught:
        shell.run("true")
    text = str(caught.value)
    assert parse_key(server.host_key, "").fingerprint in text
    assert parse_key(other, "").fingerprint in text
    assert shell.exec_requests == 0


def test_a_key_that_nobody_knows_is_refused_and_never_learnt_by_itself(
    server: Server, closing: Closing, tmp_path: Path
) -> None:
    files = HostKeys(learned=tmp_path / "learned", files=[tmp_path / "known_hosts"])
    for _ in range(2):
        with pytest.raises(HostKeyError, match="no host key is known"):
            closing(server.shell(host_keys=files)).run("true")
    assert list(tmp_path.iterdir()) == []


def test_a_key_learnt_through_the_node_lets_us_in(server: Server, closing: Closing, tmp_path: Path) -> None:
    keys = HostKeys(learned=tmp_path / "learned")
    keys.learn("ct129", HOST, server.port, server.host_key)
    assert closing(server.shell(host_keys=keys)).run("echo in").stdout == "in\n"


def test_a_key_of_another_kind_than_paramiko_would_choose_first_is_asked_for(tmp_path: Path, closing: Closing) -> None:
    """known_hosts holds the server's RSA key only; the server would rather show its Ed25519 key."""
    if SSHD is None:
        pytest.skip("sshd is not installed")
    rsa = make_key(tmp_path / "rsa", "ssh-rsa")
    with openssh(tmp_path, more=f"HostKey {tmp_path}/rsa\n") as server:
        known = tmp_path / "known_hosts"
        known.write_text(f"[{HOST}]:{server.port} {rsa}\n")
        assert closing(server.shell(host_keys=HostKeys(files=[known]))).run("echo in").stdout == "in\n"


def test_a_login_key_that_is_refused_says_which_key_and_how_to_bring_it_there(
    server: Server, closing: Closing, tmp_path: Path
) -> None:
    make_key(tmp_path / "stranger")
    shell = closing(Server(server.port, server.host_key, tmp_path / "stranger").shell())
    with pytest.raises(UnreachableError) as caught:
        shell.run("true")
    assert f"tried the key {tmp_path}/stranger" in caught.value.why
    assert caught.value.tries[0].startswith("ssh-copy-id")


def test_an_encrypted_login_key_that_no_agent_holds_leads_to_ssh_add(
    server: Server, closing: Closing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    key = asyncssh.generate_private_key("ssh-ed25519")
    (tmp_path / "key").write_bytes(key.export_private_key(passphrase="open sesame", rounds=1, ignore_few_rounds=True))
    with pytest.raises(UnreachableError, match="does not let us in") as caught:
        closing(Server(server.port, server.host_key, tmp_path / "key").shell()).run("true")
    assert any("ssh-add" in line for line in caught.value.tries)


def test_a_server_that_logs_in_but_executes_nothing_is_told_apart_from_a_broken_line(
    closing: Closing, tmp_path: Path
) -> None:
    with asyncssh_server(tmp_path, refuses_commands=True) as server:
        with pytest.raises(UnreachableError, match="executes no commands") as caught:
            closing(server.shell()).run("true")
        assert not isinstance(caught.value, ConnectionLost)


@pytest.mark.parametrize("content", [None, b"no key at all"])
def test_a_login_key_that_cannot_be_read_is_named(
    server: Server, closing: Closing, tmp_path: Path, content: bytes | None
) -> None:
    if content:
        (tmp_path / "key").write_bytes(content)
    with pytest.raises(UnreachableError, match=f"{tmp_path}/key"):
        closing(Server(server.port, server.host_key, tmp_path / "key").shell()).run("true")


def test_nagle_is_off_before_the_handshake_begins(
    server: Server, closing: Closing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With it every command waits 40 ms for a delayed acknowledgement."""
    seen: list[int] = []
    start = paramiko.Transport.start_client

    def spy(self: paramiko.Transport, *args: object, **kwargs: object) -> None:
        assert isinstance(self.sock, socket.socket)
        seen.append(self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        start(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(paramiko.Transport, "start_client", spy)
    closing(server.shell()).run("true")
    assert [value != 0 for value in seen] == [True]


def test_importing_the_shell_does_not_load_paramiko() -> None:
    """It costs 0.15 s, and most of what people type needs no line."""
    code = "import sys, inventory.ssh.shell, inventory.ssh.ask, inventory.ssh.job, inventory.ssh.pct; print('paramiko' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
