"""Dialling: a TCP socket that does not wait, ssh's handshake, the host key checked, and somebody logged in."""

import logging
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Timer
from typing import Any

import paramiko
import tenacity
from fabric import Config, Connection
from paramiko.pkey import UnknownKeyType

from inventory.errors import SpecrailError, UnreachableError
from inventory.shell import command
from inventory.ssh.known_hosts import HostKey, HostKeys

KEEPALIVE_S = 15

_SECOND_TRY_AFTER_S = 0.5

# paramiko reports each refused channel and each broken line to its log as an error; who has configured no logging would
# see it on the terminal, with a traceback. What matters of it is in the exceptions.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Login:
    """Whom to dial, and as whom. key is a private key's file; without it the agent and the usual files are tried."""

    name: str
    host: str
    port: int
    user: str
    key: Path | None
    host_keys: HostKeys


def dial(login: Login, timeout_s: float) -> Connection:
    """A connection that is open, logged in and verified. Tries twice when the first try failed at once.

    Raises UnreachableError, or HostKeyError before anything was sent that could be abused.
    """
    deadline = time.monotonic() + timeout_s
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_may_pass),
        stop=lambda state: state.attempt_number > 1 or time.monotonic() + _SECOND_TRY_AFTER_S > deadline,
        wait=tenacity.wait_fixed(_SECOND_TRY_AFTER_S),
        reraise=True,
    )
    connection: Connection = retrying(lambda: _dial_once(login, max(0.1, deadline - time.monotonic()), timeout_s))
    return connection


def _may_pass(error: BaseException) -> bool:
    """Whether it was refused or hung up on, which sshd does while it restarts or has too many callers."""
    cause = error.__cause__
    return isinstance(cause, (ConnectionError, EOFError)) or "protocol banner" in str(cause)


def _dial_once(login: Login, left_s: float, timeout_s: float) -> Connection:
    key, allow_agent = _private_key(login)
    sock = _connect(login, left_s, timeout_s)
    connection = Connection(
        login.host,
        user=login.user,
        port=login.port,
        config=Config(lazy=True, ssh_config=paramiko.SSHConfig()),  # what the inventory says, not ~/.ssh/config
        connect_kwargs={
            "sock": sock,
            "timeout": 2 * left_s,
            "banner_timeout": 2 * left_s,
            "auth_timeout": 2 * left_s,
            "pkey": key,
            "allow_agent": allow_agent,
            "look_for_keys": login.key is None,
            "transport_factory": lambda sock, **options: _transport(login, sock, **options),
        },
    )
    connection.client.set_missing_host_key_policy(_CheckEveryKey(login))
    timed_out = Event()
    watch = Timer(left_s, _cut, [sock, timed_out])  # paramiko's own timeouts begin anew with each key that is tried
    watch.daemon = True
    watch.start()
    try:
        connection.open()
        connection.transport.set_keepalive(KEEPALIVE_S)
    except BaseException as error:
        connection.client.close()
        sock.close()
        if isinstance(error, (OSError, EOFError, paramiko.SSHException)):
            raise _explained(login, error, timed_out=timed_out.is_set(), timeout_s=timeout_s) from error
        raise
    finally:
        watch.cancel()
        watch.join()
    return connection


def _connect(login: Login, left_s: float, timeout_s: float) -> socket.socket:
    where = [login.name]
    address = f"{login.host}:{login.port}"
    try:
        sock = socket.create_connection((login.host, login.port), timeout=left_s)
    except socket.gaierror as error:
        raise UnreachableError(
            f"the name {login.host} is not known here: {error.strerror}",
            where=where,
            tries=[command("getent", "hosts", login.host), "ssh.host: an address instead of a name"],
        ) from error
    except TimeoutError as error:
        raise UnreachableError(
            f"nothing answers at {address} within {timeout_s:.2g} s",
            where=where,
            why=["The machine is off or the address is wrong, or a firewall drops the packets."],
            tries=[command("ping", "-c", "3", login.host)],
        ) from error
    except OSError as error:
        raise UnreachableError(
            f"{address} cannot be reached: {error.strerror}",
            where=where,
            tries=[command("ssh", "-v", "-p", str(login.port), f"{login.user}@{login.host}")],
        ) from error
    # Without this each command waits 40 ms for a delayed acknowledgement; paramiko does not set it.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # a peer that is gone is noticed after so long, while data waits
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 4 * KEEPALIVE_S * 1000)
    return sock


def _transport(login: Login, sock: socket.socket, **options: Any) -> paramiko.Transport:
    """A Transport that asks for the kinds of host key that are known before all others, as ssh does."""
    transport = paramiko.Transport(sock, **options)
    known = {key.kind for key in login.host_keys.expected(login.name, login.host, login.port)}
    if "ssh-rsa" in known:
        known |= {"rsa-sha2-512", "rsa-sha2-256"}
    security = transport.get_security_options()
    security.key_types = sorted(security.key_types, key=lambda kind: kind not in known)
    return transport


class _CheckEveryKey(paramiko.MissingHostKeyPolicy):
    """paramiko is told of no known keys, so it asks about each one: HostKeys alone decides."""

    def __init__(self, login: Login) -> None:
        self._login = login

    def missing_host_key(self, _client: paramiko.SSHClient, _hostname: str, key: paramiko.PKey) -> None:
        login = self._login
        login.host_keys.check(login.name, login.host, login.port, HostKey(key.get_name(), key.asbytes(), "met"))


def _private_key(login: Login) -> tuple[paramiko.PKey | None, bool]:
    """The key to log in with, and whether the agent may be asked: it may hold the one whose file is encrypted."""
    if login.key is None:
        return None, True
    path = login.key.expanduser()
    try:
        return paramiko.PKey.from_path(path), False
    except (paramiko.PasswordRequiredException, TypeError):  # cryptography says TypeError for "encrypted"
        return None, True
    except OSError as error:
        raise UnreachableError(
            f"the private key {path} cannot be read: {error.strerror}",
            where=[login.name],
            tries=["ssh.key: the path of a private key on this machine"],
        ) from None
    except (ValueError, paramiko.SSHException, UnknownKeyType) as error:
        raise UnreachableError(
            f"{path} is not a private key that can be used: {error}",
            where=[login.name],
            tries=[command("ssh-keygen", "-y", "-f", str(path))],
        ) from None


def _cut(sock: socket.socket, timed_out: Event) -> None:
    timed_out.set()
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _explained(login: Login, error: Exception, *, timed_out: bool, timeout_s: float) -> SpecrailError:
    who = f"{login.user}@{login.host}:{login.port}"
    if timed_out:
        return UnreachableError(
            f"{who} takes connections but did not let us in within {timeout_s:.2g} s",
            where=[login.name],
            why=["The machine hangs or is overloaded, or something else than sshd listens there."],
            tries=[command("ssh", "-v", "-p", str(login.port), f"{login.user}@{login.host}")],
        )
    no_login = isinstance(error, paramiko.AuthenticationException) or "authentication methods" in str(error)
    if no_login:
        key = str(login.key) if login.key else "~/.ssh/id_ed25519"
        return UnreachableError(
            f"{who} does not let us in: {error}",
            where=[login.name],
            why=[f"tried the key {login.key}" if login.key else "tried the ssh agent's keys and ~/.ssh/id_*"],
            tries=[
                f"ssh-copy-id -p {login.port} -i {key} {login.user}@{login.host}",
                "ssh.key: another private key, or ssh-add it if it has a passphrase",
            ],
        )
    return UnreachableError(
        f"{who} hung up during the ssh handshake: {error or 'end of stream'}",
        where=[login.name],
        tries=[command("ssh", "-v", "-p", str(login.port), f"{login.user}@{login.host}")],
    )
