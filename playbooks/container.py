"""The container's part of a deploy: what its node and the API say, and carrying out what follows from it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from inventory.errors import UsageError
from playbooks.reach import get_in, learn_keys
from playbooks.site import Site
from roles.container import apply as carrying_out
from roles.container.facts import ContainerFacts, read
from roles.container.network import wait_for_address
from roles.container.node import NodeFacts
from roles.container.plan import plan
from roles.container.preflight import preflight
from roles.container.steps import Attach, Resize, Restart
from roles.step import Step

_USUAL_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")


@dataclass(frozen=True)
class Outside:
    """What the node says about the container, and what has to be done with it.

    ready:    it runs: one can look inside
    reshapes: the steps bring what is missed inside: a GPU, a mount, room on the disk
    """

    have: ContainerFacts
    node: NodeFacts
    steps: tuple[Step, ...]
    ready: bool
    reshapes: bool = False
    notes: tuple[str, ...] = ()


def look(site: Site, *, adopt: bool) -> Outside:
    """Ask the API and the node's root shell side by side, plan, and get in. Raises PreflightError."""
    want = site.host.container
    with ThreadPoolExecutor(max_workers=1) as pool:
        asked_node = pool.submit(learn_keys, site)
        have = read(site.pve, want.ctid)
        preflight(site.pve, want, have)
        node = asked_node.result()
    if want.net.ip == "dhcp" and have.running and site.host.ssh.host is None:
        site.learn_address(wait_for_address(site.pve, want))
    steps = tuple(plan(site.name, want, have, node, public_key(site) if have.missing else None, adopt=adopt))
    if have.running:
        get_in(site)
    reshapes = any(isinstance(step, Attach | Resize | Restart) for step in steps)
    return Outside(have, node, steps, have.running, reshapes)


def apply(site: Site, outside: Outside) -> None:
    """Carry out what is to do, one step after the other."""
    for step in outside.steps:
        if not step.changes:
            continue
        with site.talk.work("container", step.summary) as work:
            for warning in carrying_out.apply([step], site.pve, site.node_shell, on_line=work.say):
                site.talk.warn(warning)
    if any(step.changes for step in outside.steps):
        if site.host.ssh.host is None:
            site.learn_address(wait_for_address(site.pve, site.host.container))
        site.if_interrupted = f"container {site.host.container.ctid} was changed; the next deploy goes on from there"


def public_key(site: Site) -> str:
    """The public half of the key that we log in with; a new container gets it. Raises UsageError."""
    named = site.host.ssh.key
    candidates: Sequence[Path] = (
        [Path(named).expanduser()] if named else [Path("~/.ssh").expanduser() / name for name in _USUAL_KEYS]
    )
    for key in candidates:
        public = key.with_name(f"{key.name}.pub")
        if public.is_file():
            return public.read_text(encoding="utf-8").strip()
    raise UsageError(
        f"no public key is beside {named}" if named else "there is no ssh key to let a new container know us by",
        where=["container"],
        why=["A container that is created now gets the public key that we log in with."],
        tries=[f"ssh-keygen -y -f {named} > {named}.pub"] if named else ["ssh-keygen -t ed25519", "ssh.key: PATH"],
    )
