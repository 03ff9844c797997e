"""Getting into the container: with a host key that its node has read out of it, never one that was merely met first."""

from inventory.errors import HostKeyError, UnreachableError
from inventory.wait import wait_for
from playbooks.site import Site
from roles.container import node as node_facts

_SSH_UP_S = 90


def get_in(site: Site) -> None:
    """Make sure that the container answers over ssh, learning its host keys through the node where they are unknown.

    A container that was made anew has other keys: then the node says which. Raises UnreachableError.
    """
    try:
        site.shell.run("true", timeout_s=20)
    except HostKeyError:
        learn_keys(site)
        site.shell.run("true", timeout_s=20)


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
            get_in(site)
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
