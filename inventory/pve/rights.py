"""The privileges specrail needs on a Proxmox node, and the `pveum` lines that give them."""

from inventory.shell import command

ROLE = "Specrail"

PRIVILEGES = (
    "VM.Allocate",
    "VM.Audit",
    "VM.Config.CPU",
    "VM.Config.Disk",
    "VM.Config.Memory",
    "VM.Config.Network",
    "VM.Config.Options",
    "VM.PowerMgmt",
    "Datastore.AllocateSpace",
    "Datastore.Audit",
    "SDN.Use",
    "Sys.Audit",
)
"""What the role holds: enough for every API call that specrail makes, and nothing that reaches other guests' data."""


def role_line() -> str:
    """The command that makes the role, once per cluster."""
    return command("pveum", "role", "add", ROLE, "--privs", " ".join(PRIVILEGES))


def extend_line(*privileges: str) -> str:
    """The command that adds privileges to the role beyond PRIVILEGES (Sys.Modify, for privileged containers)."""
    return command("pveum", "role", "modify", ROLE, "--append", "1", "--privs", " ".join(privileges))


def grant_line(path: str, who: str) -> str:
    """The command that gives `who` ("user@realm" or "user@realm!token") the role on an ACL path.

    A token with privilege separation may do what it *and* its user may: both need the entry (root@pam has it by birth).
    """
    user, _, token = who.partition("!")
    words = ["pveum", "acl", "modify", path]
    if user != "root@pam" or not token:
        words += ["--users", user]
    if token:
        words += ["--tokens", who]
    return command(*words, "--roles", ROLE)
