"""Hosts of one inventory that cannot both be as they are wanted."""

from collections.abc import Iterator, Mapping

from inventory.errors import Problem
from inventory.resolve import ResolvedHost


def conflicts(hosts: Mapping[str, ResolvedHost]) -> Iterator[Problem]:
    """A container, a port in a container or an address that two hosts claim; reported at the later host."""
    for key, claims in (
        ("container.ctid", {name: _container(host) for name, host in hosts.items()}),
        ("server.port", {name: f"port {host.host.server.port} in {_container(host)}" for name, host in hosts.items()}),
        ("ssh.host", {name: _address(host) for name, host in hosts.items() if host.host.ssh.host}),
    ):
        first: dict[str, str] = {}
        for name, claim in claims.items():
            earlier = first.setdefault(claim, name)
            if earlier == name or (key == "ssh.host" and _container(hosts[earlier]) == _container(hosts[name])):
                continue  # one container claimed twice is reported as that
            origins = hosts[name].origins
            origin = origins.get(key, origins["container.ctid"])
            yield Problem(origin.file, origin.line, f"hosts.{name}.{key}", f"{claim} belongs to host {earlier} already")


def _container(resolved: ResolvedHost) -> str:
    return f"container {resolved.host.container.ctid} on {resolved.node_name}"


def _address(resolved: ResolvedHost) -> str:
    return f"the address {resolved.host.ssh.host}:{resolved.host.ssh.port}"
