"""Getting into the container: with a host key that its node has read out of it, never one that was merely met first."""

from inventory.errors import HostKeyError, SpecrailError, UnreachableError
from inventory.wait import wait_for
from playbooks.site import Site
from roles.container import node as node_facts
from roles.container.facts import read
from roles.container.network import wait_for_address

_SSH_UP_S = 90
_ADDRESS_S = 15


def get_in(site: Site) -> None:
    """Make sure that the container answers over ssh, at the address that it has now.

    Raises UnreachableError; where the node knows better why (it is stopped, or gone), that is what it says.
    """
    if not site.address:  # its network decides, and nobody has asked yet
        if (why := _node_says(site)) is not None:
            raise why
        site.learn_address(wait_for_address(site.pve, site.host.container, timeout_s=_ADDRESS_S))
    try:
        _knock(site)
    except HostKeyError:
        raise
    except UnreachableError as error:
        raise _node_says(site) or error from error


def _knock(site: Site) -> None:
    """Log in. A container that was made anew has other host keys: then the node says which."""
    try:
        site.shell.run("true", timeout_s=20)
    except HostKeyError:
        learn_keys(site)
        site.shell.run("true", timeout_s=20)


def _node_says(site: Site) -> UnreachableError | None:
    """Why nobody can get in, as the node's API sees it; None when it sees no reason, or does not answer itself."""
    ctid = site.host.container.ctid
    deploy = f"invoke deploy --host {site.name}"
    try:
        have = read(site.pve, ctid)
    except SpecrailError:
        return None
    if have.missing:
        return UnreachableError(f"there is no container {ctid} on {site.node_name}", where=[site.name], tries=[deploy])
    if not have.running:
        return UnreachableError(
            f"container {ctid} is {have.status}", where=[site.name], tries=[f"{deploy}   (starts it)"]
        )
    return None


def learn_keys(site: Site) -> node_facts.NodeFacts:
    """Ask the node for the container's host keys (and what else only it can tell). One exec on the node."""
    container = site.host.container
    question = node_facts.question(container.ctid, site.node.paths, container.gpus.devices)
    facts = node_facts.parse(site.node_shell.run(question).stdout)
    site.learn_host_keys(facts.host_keys)
    return facts


def wait_for_ssh(site: Site) -> None:
    """Wait until a container that was just started lets us in."""

    def answers() -> bool | None:
        try:
            _knock(site)
        except HostKeyError:
            raise
        except UnreachableError:
            return None
        return True

    with site.talk.work("container", "wait for ssh") as work:
        wait_for(
            answers,
            what=f"{site.name} to answer over ssh",
            timeout_s=_SSH_UP_S,
            on_wait=lambda seconds: work.say(f"{seconds:.0f} s"),
        )
        work.done("answers over ssh")
