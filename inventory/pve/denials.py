"""The texts with which Proxmox VE says that somebody may not do something (pve-access-control, pve-container)."""

from inventory.errors import AuthenticationFailed, NotFound, PermissionDenied
from inventory.pve.rule import rule

_ROOT_ONLY = (
    "PVE allows this to root@pam by password or on the node itself, never to an API token (not even root@pam's)."
)
_BY_SHELL = "specrail does it through the node's root shell: give the node an `ssh:` in the inventory."

_LOGIN = (
    rule(
        AuthenticationFailed,
        r"second factor",
        "An unattended tool cannot type a second factor; an API token needs none.",
        "pveum user token add {user} specrail --privsep 1",
        "node.api.token: {{id: {user}!specrail, secret: env:PVE_TOKEN}}",
    ),
    rule(
        AuthenticationFailed,
        r"no such token|no such user|invalid token value|access expired|is disabled",
        "The node does not know {who} like this: the id, the secret, the expiry or the realm is another one.",
        "pveum user token list {user}",
        "pveum user list",
        status=401,
    ),
    rule(
        AuthenticationFailed,
        r"(?i)csrf token|invalid PVE ticket|No ticket",
        "The login ticket is no longer valid: tickets last two hours, and the cluster's keys rotate.",
        "node.api.token: {{id: USER@REALM!NAME, secret: env:PVE_TOKEN}}  # needs no ticket",
        status=401,
    ),
    rule(
        AuthenticationFailed,
        r"",  # older nodes and reverse proxies send no text at all
        "The node does not accept the login of {who}: the id, the secret, the realm or the expiry is another one.",
        "pveum user token list {user}  # as root on {node}",
        status=401,
    ),
)

_ROOT = (
    rule(
        PermissionDenied,
        r"configuring device passthrough is only allowed for root@pam",
        (_ROOT_ONLY, _BY_SHELL),
        "pct set {ctid} --dev0 /dev/nvidia0,mode=0666  # as root on {node}",
    ),
    rule(
        PermissionDenied,
        r"mount point type (?P<kind>\w+) is only allowed for root@pam",
        ("A folder or device of the node inside a container ({kind}) is set by root only.", _ROOT_ONLY, _BY_SHELL),
        "pct set {ctid} --mp0 /mnt/models,mp=/mnt/models,ro=1  # as root on {node}",
    ),
    rule(
        PermissionDenied,
        r"changing feature flags for privileged container is only allowed for root@pam",
        ("A privileged container's features are set by root only, even when they are sent unchanged.", _ROOT_ONLY),
        "container.unprivileged: true  # nesting may then be set by a token",
        "pct set {ctid} --features nesting=1  # as root on {node}",
    ),
    rule(
        PermissionDenied,
        r"changing feature flags (?:\(except nesting\) )?is only allowed for root@pam",
        ("Of all features a token may set nesting only, and only on an unprivileged container.", _ROOT_ONLY, _BY_SHELL),
        "container.features: [nesting]",
        "pct set {ctid} --features nesting=1,keyctl=1  # as root on {node}",
    ),
    rule(
        PermissionDenied,
        r"changing the hookscript is only allowed for root@pam",
        _ROOT_ONLY,
        "pct set {ctid} --hookscript local:snippets/NAME  # as root on {node}",
    ),
    rule(
        PermissionDenied,
        r"Only root may use this option",
        _ROOT_ONLY,
        "pct unlock {ctid}  # as root on {node}, once you know that nothing works on the container",
    ),
    rule(
        PermissionDenied,
        r"Only root can pass arbitrary filesystem paths",
        "A template or disk was given as a path; a token may name volumes only.",
        "container.template: local:vztmpl/NAME.tar.zst  # pvesm list local --content vztmpl shows the names",
    ),
    rule(
        PermissionDenied,
        r"not available with API token|API token not allowed|user != root@pam",
        _ROOT_ONLY,
        "node.api.ticket: {{user: root@pam, password: env:PVE_PASSWORD}}",
    ),
)

_PRIVILEGES = (
    rule(
        NotFound,
        r"pool '(?P<pool>[^']+)' does not exist",
        "container.pool names a pool that the cluster does not have.",
        "pveum pool add {pool}",
        "container.pool: null",
    ),
    rule(
        PermissionDenied,
        r"Permission check failed \((?P<path>/[^,]*), (?P<privileges>[A-Za-z.|]+)(?: for [^)]*)?\)",
        (
            "{Who} lacks {privileges} on {path}.",
            "A token with privilege separation needs the entry beside its user's: the rights of both are intersected.",
            "The role, once per cluster: {role}",
        ),
        "{grant}",
    ),
    rule(
        PermissionDenied,
        r"missing privileges to access (?P<volume>\S+)",
        ("{Who} may not read {volume}.", "The role, once per cluster: {role}"),
        "{grant}",
    ),
    rule(
        PermissionDenied,
        r"Permission check failed\s*$",
        (
            "PVE names no privilege where several would do; for a new container it is VM.Allocate on /vms/{ctid}.",
            "The role, once per cluster: {role}",
        ),
        "{grant}",
    ),
    rule(
        PermissionDenied,
        r"",
        ("{Who} may not do this.", "The role, once per cluster: {role}"),
        "pveum user permissions {who_id}  # as root on {node}: what is granted",
        status=403,
    ),
)

RULES = (*_LOGIN, *_ROOT, *_PRIVILEGES)
