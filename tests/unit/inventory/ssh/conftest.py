"""Servers that live as long as the tests of this folder, and shells on them that are closed after each test."""

from collections.abc import Callable, Iterator

import pytest

from inventory.ssh.shell import SshShell
from tests.unit.inventory.ssh.servers import SSHD, Server, asyncssh_server, openssh


@pytest.fixture(scope="session")
def openssh_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if SSHD is None:
        pytest.skip("sshd is not installed: apt-get install -y --no-install-recommends openssh-server")
    with openssh(tmp_path_factory.mktemp("openssh")) as server:
        yield server


@pytest.fixture(scope="session")
def faulty_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with asyncssh_server(tmp_path_factory.mktemp("asyncssh")) as server:
        yield server


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Server:
    """OpenSSH where it is installed."""
    found: Server = request.getfixturevalue("openssh_server" if SSHD else "faulty_server")
    return found


@pytest.fixture
def closing() -> Iterator[Callable[[SshShell], SshShell]]:
    """Hangs up at the end of the test."""
    shells: list[SshShell] = []

    def keep(shell: SshShell) -> SshShell:
        shells.append(shell)
        return shell

    yield keep
    for shell in shells:
        shell.close()


@pytest.fixture(scope="module")
def shell(server: Server) -> Iterator[SshShell]:
    """A shell that has everything right, and is used by one test after the other."""
    shell = server.shell()
    yield shell
    shell.close()
