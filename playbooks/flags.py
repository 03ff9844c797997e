"""Values of flags: text from a command line, turned into what it must be, or refused in its own words."""

from inventory.errors import UsageError


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
