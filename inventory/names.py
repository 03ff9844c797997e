"""Names that end up in paths, units and commands: what is allowed is spelled out, the rest is refused, nothing is escaped."""

from typing import Annotated

from pydantic import StringConstraints

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"

HostName = Annotated[str, StringConstraints(pattern=rf"^{_LABEL}$")]
"""An inventory's name for a host, a group or a node: one DNS label, at most 63 characters."""

Address = Annotated[str, StringConstraints(pattern=rf"^(?:{_LABEL}(?:\.{_LABEL})*\.?|[0-9A-Fa-f:]+)$", max_length=253)]
"""A DNS name, an IPv4 or an IPv6 address."""

ServiceName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,40}$")]
"""Names folders, a systemd unit and a lock: lower case, digits and dashes."""

AbsolutePath = Annotated[
    str, StringConstraints(pattern=r"^/(?:[A-Za-z0-9_@+=.,-]+(?:/[A-Za-z0-9_@+=.,-]+)*)?$", max_length=512)
]
"""An absolute path without spaces, quotes, percent signs or empty parts (units and mount options cannot carry them)."""

UserName = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")]

EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]

GitSha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]

StorageId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9._-]*$")]

SecretReference = Annotated[str, StringConstraints(pattern=r"^(?:env:[A-Za-z_][A-Za-z0-9_]*|file:.+|command:.+)$")]
"""Where a secret is, never what it is: `env:NAME`, `file:PATH` or `command:ARGV...`."""
