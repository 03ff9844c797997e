"""One host of the inventory with every line to it, dialled when it is first needed."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType

from pydantic import JsonValue
from rich.console import Console

from inventory.models import Host, Node, Ssh
from inventory.pve.api import Proxmox
from inventory.resolve import ResolvedHost, with_changes
from inventory.secrets import Redactor, resolve
from inventory.shell import HostShell
from inventory.ssh.known_hosts import HostKeys
from inventory.ssh.shell import SshShell
from playbooks.talk import Talk
from roles.load.endpoint import Endpoint
from roles.load.history import History
from roles.release.control import Control
from roles.release.layout import Layout

STATE_VARIABLE = "SPECRAIL_STATE"


class Site:
    """A host, its node, and how to talk to both and about both. Leaving it hangs up.

    if_interrupted says what a Ctrl-C at this moment leaves behind, tries_if_interrupted which commands help then;
    playbooks keep both true.
    drafter_flags are what a look at the same drafter's config must be told, because the inventory does not say it.
    """

    def __init__(self, resolved: ResolvedHost, *, verb: str, checkout: Path, talk_to: Console) -> None:
        self._resolved = self._as_written = resolved
        self._checkout = checkout
        self.verb = verb
        self.operation = secrets.token_hex(5)
        self.redactor = Redactor()
        self.talk = Talk(talk_to, self.redactor)
        self.if_interrupted = "nothing was changed"
        self.tries_if_interrupted: tuple[str, ...] = ()
        self.drafter_flags: tuple[str, ...] = ()

    def __enter__(self) -> "Site":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for line in ("shell", "node_shell", "pve"):
            if line in self.__dict__:
                with contextlib.suppress(OSError):
                    self.__dict__[line].close()

    @property
    def name(self) -> str:
        """The host's name in the inventory."""
        return self._resolved.name

    @property
    def host(self) -> Host:
        """What is wanted."""
        return self._resolved.host

    @property
    def node(self) -> Node:
        """The Proxmox node."""
        return self._resolved.node

    @property
    def node_name(self) -> str:
        """The node's own name in its cluster."""
        return self.node.name or self._resolved.node_name

    def change(self, changes: dict[str, JsonValue]) -> None:
        """Put flags over what the inventory says. Raises InventoryError for what does not fit."""
        if changes:
            self._resolved = with_changes(self._resolved, changes)

    def change_back(self) -> None:
        """Take flags off again: what the inventory says, and nothing over it."""
        self._resolved = self._as_written

    @property
    def inventory_file(self) -> Path | None:
        """The file that says what is wanted; None for a host that no file holds."""
        return next((Path(origin.file) for origin in self._as_written.origins.values() if origin.file), None)

    @cached_property
    def layout(self) -> Layout:
        """Where the service's files are on the host."""
        return Layout.of(self.host)

    @cached_property
    def pve(self) -> Proxmox:
        """The node's API."""
        return Proxmox.connect(self.node.api, self.node_name, self.secret)

    @cached_property
    def node_shell(self) -> SshShell:
        """The node's root shell."""
        return self._ssh(self.node_name, self.node.ssh, self.node.ssh.host or self.node.api.host, learned=None)

    @cached_property
    def shell(self) -> HostShell:
        """The shell inside the container, for as long as its address stays."""
        return self._ssh(self.name, self.host.ssh, self.address, learned=self.state / "known_hosts")

    @property
    def control(self) -> Control:
        """The host's control script."""
        return Control(self.shell, self.layout)

    @property
    def address(self) -> str:
        """Where the container is reached; `learn_address` sets it where the network decides."""
        return self._address or self.host.ssh.host or ""

    _address: str | None = None

    def learn_address(self, address: str) -> None:
        """Use this address from now on (a container whose net is dhcp)."""
        self._address = address

    def learn_host_keys(self, lines: tuple[str, ...]) -> None:
        """Trust these keys of the container, as its node has read them out of it."""
        if lines and self.host.ssh.host_key is None:
            keys = HostKeys(learned=self.state / "known_hosts")
            keys.learn(self.name, self.address, self.host.ssh.port, *lines)

    @cached_property
    def state(self) -> Path:
        """Where the controller keeps what it may lose: learnt host keys, history."""
        folder = state_folder(self._checkout)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    @cached_property
    def history(self) -> History:
        """Past bench results and verdicts."""
        return history_in(self.state)

    def secret(self, reference: str) -> str:
        """A secret's value, hidden from now on in everything that is said."""
        found = resolve(reference, self._checkout)
        self.redactor.add(found)
        return found.reveal()

    @cached_property
    def server_secrets(self) -> dict[str, str]:
        """The values of server.secrets."""
        return {name: self.secret(reference) for name, reference in self.host.server.secrets.items()}

    @contextlib.contextmanager
    def endpoint(self) -> Iterator[Endpoint]:
        """The server, while the context lasts: through ssh, or at the host's address."""
        key = self.server_secrets.get("VLLM_API_KEY")
        with contextlib.ExitStack() as stack:
            if self.host.server.reach == "tunnel":
                port = stack.enter_context(self.shell.forward(self.host.server.port))
                root = f"http://127.0.0.1:{port}"
            else:
                root = f"http://{_bracketed(self.address)}:{self.host.server.port}"
            yield Endpoint(root, self.host.model.served_name, key)

    def _ssh(self, name: str, ssh: Ssh, address: str, *, learned: Path | None) -> SshShell:
        keys = HostKeys(pinned=ssh.host_key, learned=learned, files=(Path(ssh.known_hosts).expanduser(),))
        key = Path(ssh.key).expanduser() if ssh.key else None
        return SshShell(name, address, ssh.port, ssh.user, key, keys, self.redactor)


def state_folder(checkout: Path) -> Path:
    """Where the controller's state is, whether it is there already or not."""
    return Path(os.environ.get(STATE_VARIABLE) or checkout / ".specrail")


def history_in(state: Path) -> History:
    """The history in a state folder."""
    return History(state / "history.sqlite3")


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


Action = Callable[[Site], object]
