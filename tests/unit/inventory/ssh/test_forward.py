"""A forwarded port: what connects to it here talks to the host's own loopback."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from inventory.errors import UnreachableError
from inventory.ssh.shell import SshShell
from tests.unit.inventory.ssh.servers import HOST, Relay, Server

Closing = Callable[[SshShell], SshShell]


@contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server whose connections are each handled by `answer` in a thread."""
    ear = socket.create_server((HOST, 0))
    threads: list[threading.Thread] = []

    def serve(call: socket.socket) -> None:
        with call:
            answer(call)

    def accept() -> None:
        while True:
            try:
                call, _ = ear.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(call,), daemon=True))
            threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield ear.getsockname()[1]
    finally:
        ear.shutdown(socket.SHUT_RDWR)
        acceptor.join()
        ear.close()
        for thread in threads:
            thread.join(10)


def shout(call: socket.socket) -> None:
    """Reads to the end, then answers in capitals."""
    data = b""
    while piece := call.recv(65536):
        data += piece
    call.sendall(data.upper())


def exchange(port: int, data: bytes) -> bytes:
    """Send, say that this was all, and read all that comes back."""
    with socket.create_connection((HOST, port), timeout=20) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
        return answer


def test_connections_at_once_each_get_their_own_answer(shell: SshShell) -> None:
    answers: dict[int, bytes] = {}
    with listening(shout) as port, shell.forward(port) as local:

        def talk(number: int) -> None:
            answers[number] = exchange(local, f"client {number} ".encode() * 20_000)

        clients = [threading.Thread(target=talk, args=(number,)) for number in range(8)]
        for client in clients:
            client.start()
        for client in clients:
            client.join(30)
    assert answers == {number: f"CLIENT {number} ".encode() * 20_000 for number in range(8)}


def test_commands_run_beside_a_forwarded_port(shell: SshShell) -> None:
    with listening(shout) as port, shell.forward(port) as local:
        assert exchange(local, b"before") == b"BEFORE"
        assert shell.run("echo beside").stdout == "beside\n"
        assert exchange(local, b"after") == b"AFTER"


def test_a_port_where_nobody_listens_yet_resets_and_works_once_somebody_does(
    shell: SshShell, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server((HOST, 0)) as ear:
        port = ear.getsockname()[1]
    with shell.forward(port) as local:
        with pytest.raises(ConnectionResetError):
            exchange(local, b"anybody?")
        with socket.create_server((HOST, port)) as ear:
            threading.Thread(target=lambda: shout_once(ear), daemon=True).start()
            assert exchange(local, b"now?") == b"NOW?"
    assert capfd.readouterr().err == ""


def shout_once(ear: socket.socket) -> None:
    call, _ = ear.accept()
    with call:
        shout(call)


def wait_for_the_end(call: socket.socket) -> None:
    """Never answers."""
    call.recv(1)


def test_leaving_closes_the_port_and_the_connections_that_are_open(shell: SshShell) -> None:
    with listening(wait_for_the_end) as port:
        with shell.forward(port) as local:
            sock = socket.create_connection((HOST, local), timeout=20)
        with sock, pytest.raises(ConnectionResetError):
            sock.recv(1)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((HOST, local), timeout=20)


def test_a_line_that_breaks_resets_the_connection_and_the_next_one_is_carried_by_a_new_line(
    server: Server, closing: Closing, capfd: pytest.CaptureFixture[str]
) -> None:
    with listening(shout) as port, Relay(server.port) as relay:
        shell = closing(server.shell(port=relay.port))
        with shell.forward(port) as local, socket.create_connection((HOST, local), timeout=20) as sock:
            assert exchange(local, b"fine") == b"FINE"
            sock.sendall(b"half of a request")
            relay.cut()
            with pytest.raises(ConnectionResetError):
                sock.recv(1)
            assert exchange(local, b"again") == b"AGAIN"
    assert capfd.readouterr().err == ""


def test_a_host_that_is_out_of_reach_is_told_before_there_is_a_port(server: Server, closing: Closing) -> None:
    with socket.create_server((HOST, 0)) as ear:
        dead = ear.getsockname()[1]
    with pytest.raises(UnreachableError), closing(server.shell(port=dead)).forward(8000):
        pytest.fail("there is no line")
