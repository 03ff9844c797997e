"""Names that end up in paths, units and commands: what is allowed is spelled out, the rest is refused, not escaped."""

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated

from pydantic import (
    AfterValidator,
    BeforeValidator,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

NOT_AS_WANTED = "not_as_wanted"
"""Error type of a text that a name's pattern refuses; the message is what is wanted, in words."""
LITERAL_SECRET = "literal_secret"  # noqa: S105 - the name of an error type
"""Error type of a value where a reference to a secret belongs: whoever reports it must not show the value."""


def says(wanted: str) -> WrapValidator:
    """Report a text that is refused as "`wanted`" instead of as a regular expression.

    `wanted` is a noun phrase that fits before "is wanted". What is not text at all is left to pydantic's own errors.
    """

    def check(value: object, handler: ValidatorFunctionWrapHandler) -> object:
        try:
            return handler(value)
        except ValidationError:
            if isinstance(value, str):
                raise PydanticCustomError(NOT_AS_WANTED, "{wanted}", {"wanted": wanted}) from None
            raise

    return WrapValidator(check)


def _reference(value: object, handler: ValidatorFunctionWrapHandler) -> object:
    try:
        return handler(value)
    except ValidationError:
        raise PydanticCustomError(LITERAL_SECRET, "a reference to a secret") from None


def _address(value: str) -> str:
    if ":" in value:
        IPv6Address(value)
    elif value.rstrip(".").rsplit(".", 1)[-1].isdigit():  # no top-level domain is a number
        IPv4Address(value)
    return value


def _no_way_up(value: str) -> str:
    if any(part in {".", ".."} for part in value.split("/")):
        raise ValueError("`.` and `..` are not allowed in a path")
    return value


_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HOST_NAME_PATTERN = rf"^{_LABEL}$"
HOST_NAME_WANTED = "a name of letters, digits and dashes (at most 63, no dash at either end)"

HostName = Annotated[str, StringConstraints(pattern=HOST_NAME_PATTERN), says(HOST_NAME_WANTED)]
"""An inventory's name for a host, a group or a node: one DNS label, at most 63 characters."""

Address = Annotated[
    str,
    StringConstraints(pattern=rf"^(?:{_LABEL}(?:\.{_LABEL})*\.?|[0-9A-Fa-f:]+)$", max_length=253),
    AfterValidator(_address),
    says("a DNS name, an IPv4 or an IPv6 address"),
]
"""A DNS name, an IPv4 or an IPv6 address."""

ServiceName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,40}$"),
    says("a name of lower-case letters, digits and dashes that starts with a letter (at most 41)"),
]
"""Names folders, a systemd unit and a lock: lower case, digits and dashes."""

AbsolutePath = Annotated[
    str,
    StringConstraints(pattern=r"^/(?:[A-Za-z0-9_@+.-]+(?:/[A-Za-z0-9_@+.-]+)*)?$", max_length=512),
    AfterValidator(_no_way_up),
    says("an absolute path of letters, digits and _ @ + . - (no `..`, no slash at the end)"),
]
"""An absolute path without spaces, quotes, percent signs, commas, equals signs or empty parts.

Units, mount options and Proxmox's property strings cannot carry them.
"""

UserName = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z_][a-z0-9_-]{0,31}$"),
    says("a Unix user name (lower-case letters, digits, _ and -)"),
]

EnvName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"),
    says("a variable name (letters, digits and _, no digit in front)"),
]

GitSha = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{40}$"), says("a full commit id (40 hexadecimal digits, lower case)")
]

StorageId = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9._-]*$"),
    says("a Proxmox storage id (letters, digits and . _ -, a letter in front)"),
]

SecretReference = Annotated[
    str,
    StringConstraints(pattern=r"^(?:env:[A-Za-z_][A-Za-z0-9_]*|file:.+|command:.+)$"),
    WrapValidator(_reference),
]
"""Where a secret is, never what it is: `env:NAME`, `file:PATH` or `command:ARGV...`."""


def is_host_name(text: str) -> bool:
    """Whether `text` may name a host, a group or a node."""
    return re.fullmatch(HOST_NAME_PATTERN, text) is not None


def number_as_text(value: object) -> object:
    """A whole number stands for its text, where text is wanted and a number is what people write (`VLLM_USE_V1: 1`)."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


EnvValue = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$"),
    says("one line of text without control characters"),
    BeforeValidator(number_as_text, json_schema_input_type=str | int),
]
"""The value of an environment variable: one line."""

Word = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00]*$"),
    says("text without NUL"),
    BeforeValidator(number_as_text, json_schema_input_type=str | int),
]
"""One word of a command line."""
