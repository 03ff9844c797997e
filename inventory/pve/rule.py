"""One row of the tables of Proxmox's texts: what a refusal means, why it comes, and what helps."""

import re
from dataclasses import dataclass

from inventory.errors import ProxmoxError


@dataclass(frozen=True)
class Rule:
    """One kind of refusal.

    pattern: searched for in the answer's text and in its messages per field
    why, tries: templates. They may name the pattern's groups and {node}, {ctid}, {who} ("the API token x@pve!y"; {Who}
           where a line starts), {who_id} ("x@pve!y"), {user} ("x@pve"), and the whole lines {grant} (for the groups
           path or volume) and {role}. In tries every value is quoted for a shell.
    status: only answers with this HTTP status, None for any (and for tasks and `pct`, which have none)
    """

    error: type[ProxmoxError]
    pattern: re.Pattern[str]
    why: tuple[str, ...]
    tries: tuple[str, ...]
    status: int | None = None


def rule(
    error: type[ProxmoxError], pattern: str, why: str | tuple[str, ...], *tries: str, status: int | None = None
) -> Rule:
    """A row, written short: the table is long."""
    return Rule(error, re.compile(pattern), (why,) if isinstance(why, str) else why, tries, status)
