"""What a Proxmox node answered, turned into one of our errors: the only place that reads its status codes and texts.

PVE answers schema errors with 400 and almost everything else with 500 and a text, so the text decides and the status
helps only where the text says nothing. The same texts come from tasks and from `pct`, there without a status.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from inventory.errors import ConnectionLost, SpecrailError, UnreachableError
from inventory.pve import denials, rights, texts
from inventory.shell import command

NEVER_SENT = frozenset({503, 595})
"""A proxy or pveproxy could not hand the request on: the node that is meant never saw it."""

OUTCOME_UNKNOWN = frozenset({502, 504, 596, 599})
"""The line behind a proxy or pveproxy broke after the request went out (pveproxy gives up after 30 s)."""

BLIPS = NEVER_SENT | OUTCOME_UNKNOWN
"""Statuses that another try may mend."""


@dataclass(frozen=True)
class Answer:
    """A refusal. status is None for a task's exit status and for `pct`; fields are the 400's messages per parameter."""

    status: int | None
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """What was asked, and by whom ("user@realm" or "user@realm!token")."""

    node: str
    who: str
    what: str
    ctid: int | None = None


def classify(answer: Answer, asked: Asked) -> SpecrailError:
    """The error for an answer: a ProxmoxError of the right kind, or UnreachableError / ConnectionLost for BLIPS."""
    where = (asked.node, asked.what)
    if answer.status in BLIPS:
        return _blip(answer, asked)
    details = [f"{name}: {message.strip()}" for name, message in sorted(answer.fields.items())]
    subject = "\n".join([answer.text, *details])
    for rule in (*denials.RULES, *texts.RULES):
        if rule.status not in (None, answer.status):
            continue
        if (match := rule.pattern.search(subject)) is None:
            continue
        known = _known(subject, asked, match.groupdict())
        return rule.error(
            _headline(answer.text),
            status=answer.status,
            where=where,
            why=[*details, *(line.format_map(known) for line in rule.why)],
            tries=[line.format_map(_quoted(known)) for line in rule.tries],
        )
    raise AssertionError("the last rule matches every text")


def _headline(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line.rstrip(".") or "the node refuses and gives no reason"


def _known(subject: str, asked: Asked, groups: Mapping[str, str | None]) -> dict[str, str]:
    """Every name that a rule's templates may use."""
    named = re.search(r"\b(?:CT|VM) (\d+)\b", subject)
    ctid = str(asked.ctid) if asked.ctid is not None else named[1] if named else "CTID"
    login = "API token" if "!" in asked.who else "user"
    known = {
        "node": asked.node,
        "ctid": ctid,
        "who": f"the {login} {asked.who}",
        "Who": f"The {login} {asked.who}",
        "who_id": asked.who,
        "user": asked.who.partition("!")[0],
        **{name: value for name, value in groups.items() if value is not None},
    }
    path = known.get("path") or _path_of_volume(known.get("volume")) or f"/vms/{ctid}"
    wanted = [name for name in known.get("privileges", "").split("|") if name]
    extra = wanted and not set(wanted) & set(rights.PRIVILEGES)
    known["grant"] = rights.grant_line(path, asked.who)
    known["role"] = rights.extend_line(wanted[0]) if extra else rights.role_line()
    return known


def _path_of_volume(volume: str | None) -> str | None:
    return f"/storage/{volume.partition(':')[0]}" if volume else None


def _quoted(known: Mapping[str, str]) -> dict[str, str]:
    whole_lines = {"grant", "role"}
    return {name: value if name in whole_lines else command(value) for name, value in known.items()}


def _blip(answer: Answer, asked: Asked) -> SpecrailError:
    why = [f"{asked.node} could not be reached through the API ({answer.status}, from pveproxy or a proxy before it)."]
    tries = [
        "pvecm status && systemctl status pveproxy pvedaemon  # as root on any node of the cluster",
        f"ping {command(asked.node)}  # from the node that node.api names",
    ]
    if answer.status in OUTCOME_UNKNOWN and not asked.what.startswith("GET "):
        why.append("The request may have been carried out all the same; the same command again finds out.")
        return ConnectionLost(_headline(answer.text), where=(asked.node, asked.what), why=why, tries=tries)
    return UnreachableError(_headline(answer.text), where=(asked.node, asked.what), why=why, tries=tries)
