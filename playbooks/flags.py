"""Values of flags: text from a command line, turned into what it must be, or refused in its own words."""

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from inventory.errors import UsageError

_EXAMPLE = '{"dflash_config": {"mask_token_id": 248070}}'


def whole_number(flag: str, text: str | int | None, *, least: int = 1) -> int | None:
    """The number; None for a flag that was not given. Raises UsageError."""
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or number < least:
        raise UsageError(f"--{flag} wants a whole number of at least {least}, not {text!r}")
    return number


def positive_number(flag: str, text: str | None, *, zero: bool = False) -> float | None:
    """The number, above 0 (or 0, where `zero` says so); None for a flag that was not given. Raises UsageError."""
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (0 < number < float("inf") or (zero and number == 0)):
        raise UsageError(f"--{flag} wants a number {'of at least' if zero else 'above'} 0, not {text!r}")
    return number


def json_object(flag: str, path: str) -> dict[str, JsonValue]:
    """The JSON object in a file that a flag names. Raises UsageError."""
    tries = [f"--{flag} FILE, with JSON such as {_EXAMPLE}"]
    try:
        value: JsonValue = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise UsageError(f"--{flag}: {path}: {error.strerror}", tries=tries) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--{flag}: {path} is not JSON: it is no text", tries=tries) from error
    except (ValueError, RecursionError) as error:  # ValueError also for a number of more digits than Python reads
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise UsageError(f"--{flag}: {path} is not JSON: {why}", tries=tries) from error
    if not isinstance(value, dict):
        raise UsageError(f"--{flag}: {path} holds no JSON object", tries=tries)
    return value


def conditions_told(told: Sequence[str]) -> dict[str, object]:
    """What --set NAME=VALUE says; a number, true or false where it is one, as measured conditions have them."""
    found: dict[str, object] = {}
    for one in told:
        name, equals, value = one.partition("=")
        if not equals or not name.strip() or not value:
            raise UsageError(f"--set wants NAME=VALUE, not {one!r}", tries=['--set "engine=sglang 0.5.23" --set k=3'])
        found[name.strip()] = _typed(value)
    return found


def _typed(value: str) -> object:
    if value in {"true", "false"}:
        return value == "true"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
