"""Changing one number in an inventory file and nothing else: comments, order, quotes and blank lines stay."""

import os
import re
import tempfile
from pathlib import Path

from inventory.errors import InventoryError, UsageError
from inventory.load import Inventory, load
from inventory.located import Located
from inventory.positions import read
from inventory.resolve import with_changes

_TOKENS = re.compile(r"(\btokens\s*:\s*)[0-9]+")


def write_tokens(path: Path, host: str, tokens: int) -> str | None:
    """Set drafter.tokens of one host, 0 for no drafter; returns where it stands now, None where it said so before.

    A value that other hosts share is left alone: the host gets its own. The file is replaced only by one that reads
    as the same inventory but for that number. Raises UsageError where that cannot be done.
    """
    before = load(path)
    now = before.hosts[host].host.drafter
    if (now.tokens if now else 0) == tokens:
        return None
    text = path.read_text(encoding="utf-8")
    changed, line = _changed(text, read(path), host, tokens)
    _replace(path, changed, before, host, tokens)
    return f"{path}:{line}"


def _changed(text: str, tree: Located, host: str, tokens: int) -> tuple[str, int]:
    """The new text, and the line of the change."""
    lines = text.splitlines(keepends=True)
    entry = _at(tree, "hosts", host)
    own = entry.child("drafter") if entry else None
    if entry is None or entry.origin.line is None:
        raise _by_hand(host, tokens)
    if tokens and own is not None and (number := own.child("tokens")) is not None and number.origin.line:
        at = number.origin.line - 1
        lines[at] = _TOKENS.sub(rf"\g<1>{tokens}", lines[at], count=1)
        return "".join(lines), at + 1
    if own is not None and own.origin.line is not None:
        at = own.origin.line - 1
        indent = _indent(lines[at])
        if tokens and own.value is not None:
            inner = next((_indent(line) for line in lines[at + 1 :] if line.strip()), "")
            lines.insert(at + 1, f"{inner}tokens: {tokens}\n")
            return "".join(lines), at + 2
        end = _end_of_block(lines, at)
        old = [f"{indent}# {line[len(indent) :]}" if line.strip() else line for line in lines[at:end]]
        lines[at:end] = [f"{indent}drafter: {_value(tokens)}\n", *(old if not tokens else [])]
        return "".join(lines), at + 1
    at = entry.origin.line - 1
    inner = next((_indent(line) for line in lines[at + 1 :] if line.strip() and not line.lstrip().startswith("#")), "")
    if len(inner) <= len(_indent(lines[at])):
        raise _by_hand(host, tokens)
    lines.insert(at + 1, f"{inner}drafter: {_value(tokens)}\n")
    return "".join(lines), at + 2


def _replace(path: Path, text: str, before: Inventory, host: str, tokens: int) -> None:
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8"
    ) as file:
        draft = Path(file.name)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        try:
            after = load(draft)
        except InventoryError as error:
            raise _by_hand(host, tokens) from error
        wanted = with_changes(before.hosts[host], {"drafter.tokens": tokens} if tokens else {"drafter": None})
        others = before.hosts.keys() - {host}
        same = after.hosts.keys() == before.hosts.keys() and after.hosts[host].host == wanted.host
        if not same or any(after.hosts[name].host != before.hosts[name].host for name in others):
            raise _by_hand(host, tokens)
        draft.chmod(path.stat().st_mode & 0o777)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _end_of_block(lines: list[str], start: int) -> int:
    """Index behind the last line that belongs to the key at `start`."""
    depth, end = len(_indent(lines[start])), start + 1
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if line.strip() and len(_indent(line)) <= depth:
            break
        if line.strip():
            end = number + 1
    return end


def _at(tree: Located, *path: str) -> Located | None:
    found: Located | None = tree
    for part in path:
        found = found.child(part) if found else None
    return found


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())].rstrip("\n")


def _value(tokens: int) -> str:
    return f"{{tokens: {tokens}}}" if tokens else "null"


def _by_hand(host: str, tokens: int) -> UsageError:
    return UsageError(
        "the inventory is not written in a way that can be changed without touching the rest",
        where=[host],
        tries=[f"by hand, below hosts.{host}:  drafter: {_value(tokens)}"],
    )
