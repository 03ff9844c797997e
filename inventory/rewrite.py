"""Changing how many tokens are drafted in an inventory file, and nothing else: comments, order and blank lines stay."""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from inventory.errors import InventoryError, UsageError
from inventory.load import Inventory, load
from inventory.located import Located
from inventory.positions import parse, read
from inventory.resolve import with_changes

_TOKENS = re.compile(r"(\btokens\s*:\s*)[0-9]+")


def write_tokens(path: Path, host: str, tokens: int, option: tuple[str, JsonValue] | None = None) -> str | None:
    """Set drafter.tokens of one host, 0 for no drafter; returns where it stands now, None where it said so before.

    option: a key of drafter.options and its value as well; None as a value takes it away
    A value that other hosts share is left alone: the host gets its own. The file is replaced only by one that reads
    as the same inventory but for that. Raises UsageError where that cannot be done.
    """
    before = load(path)
    now = before.hosts[host].host.drafter
    text = path.read_text(encoding="utf-8")
    line: int | None = None
    changes: dict[str, JsonValue] = {}
    if (now.tokens if now else 0) != tokens:
        text, line = _changed(text, read(path), host, tokens)
        changes |= {"drafter.tokens": tokens} if tokens else {"drafter": None}
    if option is not None and tokens and (now.options if now else {}).get(option[0]) != option[1]:
        text, at = _with_option(text, parse(text, str(path)), host, option, tokens)
        line = line or at
        changes[f"drafter.options.{option[0]}"] = option[1]
    if line is None:
        return None
    _replace(path, text, before, host, changes, _by_hand(host, tokens, option))
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


def _with_option(text: str, tree: Located, host: str, option: tuple[str, JsonValue], tokens: int) -> tuple[str, int]:
    """The new text with one key of the host's own drafter.options, and its line."""
    key, value = option
    lines = text.splitlines(keepends=True)
    pair = f"{key}: {json.dumps(value)}"
    own, refusal = _at(tree, "hosts", host, "drafter"), _by_hand(host, tokens, option)
    if own is None or own.origin.line is None:
        at = _insert(
            lines, _at(tree, "hosts", host), f"drafter: {{options: {{{pair}}}}}", _by_hand(host, tokens, option)
        )
    elif (options := own.child("options")) is None or options.origin.line is None:
        at = _insert(lines, own, f"options: {{{pair}}}", refusal)
    elif (there := options.child(key)) is not None and there.origin.line:
        at = there.origin.line - 1
        lines[at] = re.sub(
            rf"(\b{re.escape(key)}\s*:\s*)(\[.*\]|null)", rf"\g<1>{json.dumps(value)}", lines[at], count=1
        )
    else:
        at = _insert(lines, options, pair, refusal)
    return "".join(lines), at + 1


def _insert(lines: list[str], parent: Located | None, pair: str, refusal: UsageError) -> int:
    """Put a key in front of a mapping's other keys, in its own style; returns the line's index."""
    if parent is None or parent.origin.line is None:
        raise refusal
    at = parent.origin.line - 1
    head, brace, rest = lines[at].partition("{")
    if brace and not head.split("#")[0].rstrip().endswith(("'", '"')):
        lines[at] = f"{head}{{{pair}{'' if rest.lstrip().startswith('}') else ', '}{rest}"
        return at
    inner = next((_indent(line) for line in lines[at + 1 :] if line.strip() and not line.lstrip().startswith("#")), "")
    if len(inner) <= len(_indent(lines[at])):
        raise refusal
    lines.insert(at + 1, f"{inner}{pair}\n")
    return at + 1


def _replace(
    path: Path, text: str, before: Inventory, host: str, changes: Mapping[str, JsonValue], refusal: UsageError
) -> None:
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
            raise refusal from error
        wanted = with_changes(before.hosts[host], changes)
        others = before.hosts.keys() - {host}
        same = after.hosts.keys() == before.hosts.keys() and after.hosts[host].host == wanted.host
        if not same or any(after.hosts[name].host != before.hosts[name].host for name in others):
            raise refusal
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


def _by_hand(host: str, tokens: int, option: tuple[str, JsonValue] | None = None) -> UsageError:
    also = f"   and drafter.options.{option[0]}: {json.dumps(option[1])}" if option and option[1] is not None else ""
    return UsageError(
        "the inventory is not written in a way that can be changed without touching the rest",
        where=[host],
        tries=[f"by hand, below hosts.{host}:  drafter: {_value(tokens)}{also}"],
    )
