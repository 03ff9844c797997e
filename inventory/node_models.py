"""Machines that can be reached, typed: ssh, the Proxmox API, a node."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import PositiveFloat, StringConstraints, model_validator

from inventory.names import AbsolutePath, Address, HostName, SecretReference, UserName, says
from inventory.strict import Model, Port, refuse


class Ssh(Model):
    """How to log in."""

    host: Address | None = None
    """Address to dial. A host's default is the static address of its container's net."""
    port: Port = 22
    """Port of sshd, as seen from the controller."""
    user: UserName = "root"
    """Who to log in as. A node's commands (pct) need root."""
    key: str | None = None
    """Path of a private key on the controller, relative to the inventory file; default: the agent, the usual files."""
    host_key: (
        Annotated[
            str,
            StringConstraints(pattern=r"^(ssh-|ecdsa-|sk-)\S+ \S+$"),
            says('a public key of two words, "ssh-ed25519 AAAA...", without the comment'),
        ]
        | None
    ) = None
    """The host's public key, "ssh-ed25519 AAAA...". A container's is learnt through its node when it is left out."""
    known_hosts: str = "~/.ssh/known_hosts"
    """Where keys are looked up when host_key is not given; relative to the inventory file."""


class Token(Model):
    """A Proxmox API token: `user@realm!id` and a reference to its secret."""

    id: Annotated[
        str,
        StringConstraints(pattern=r"^[^\s@!]+@[A-Za-z0-9._-]+![A-Za-z0-9._-]+$"),
        says("a token's full id, user@realm!name"),
    ]
    """The full id as `pveum user token add` prints it: "specrail@pve!deploy"."""
    secret: SecretReference
    """Reference to the token's secret: env:NAME, file:PATH or command:ARGV..."""


class Ticket(Model):
    """A Proxmox user and a reference to the password."""

    user: Annotated[
        str,
        StringConstraints(pattern=r"^[^\s@!]+@[A-Za-z0-9._-]+$"),
        says("a user with its realm, root@pam"),
    ]
    """User and realm: "root@pam"."""
    password: SecretReference
    """Reference to the password: env:NAME, file:PATH or command:ARGV..."""


class Api(Model):
    """How to reach a node's API. TLS is always verified: by the system's CAs, a CA file, or a fingerprint."""

    host: Address
    """Name or address of the node. With a CA file it must be a name that the node's certificate carries."""
    port: Port = 8006
    """Port of pveproxy."""
    token: Token | None = None
    """Log in with an API token (this or ticket)."""
    ticket: Ticket | None = None
    """Log in with a user's password (this or token)."""
    ca_file: str | None = None
    """The cluster's CA on the controller (a copy of /etc/pve/pve-root-ca.pem), relative to the inventory file."""
    fingerprint: (
        Annotated[
            str,
            StringConstraints(pattern=r"^(?:[0-9A-Fa-f]{2}:){31}[0-9A-Fa-f]{2}$"),
            says("a SHA-256 fingerprint (32 pairs of hexadecimal digits with colons between them)"),
        ]
        | None
    ) = None
    """SHA-256 of the node's certificate, as `pvenode cert info` prints it."""
    timeout_s: PositiveFloat = 30
    """Seconds for one request. The node's own proxy gives up after 30."""

    @model_validator(mode="after")
    def _one_login_one_anchor(self) -> "Api":
        refuse(self._contradictions())
        return self

    def _contradictions(self) -> Iterator[str]:
        if (self.token is None) == (self.ticket is None):
            yield "give exactly one of token and ticket"
        if self.ca_file and self.fingerprint:
            yield "give ca_file or fingerprint, not both"


class Paths(Model):
    """Where things are on a machine; procfs and dev as node_exporter's flags, for machines that show them elsewhere."""

    root: AbsolutePath = "/opt/specrail"
    """Folder of venvs and releases."""
    logs: AbsolutePath = "/var/log/specrail"
    """Folder of the engines' logs."""
    procfs: AbsolutePath = "/proc"
    """Where procfs is mounted."""
    dev: AbsolutePath = "/dev"
    """Where the device nodes are."""


class Node(Model):
    """A Proxmox node: its API for what a token may do, its root shell for the rest (devices, bind mounts, pct exec)."""

    name: HostName | None = None
    """The node's own name in the cluster; default: its key in the inventory."""
    api: Api
    """The Proxmox API."""
    ssh: Ssh
    """The node's root shell."""
    paths: Paths = Paths()
    """Where things are on the node."""
