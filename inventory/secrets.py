"""Secrets: found by reference, never shown by accident, and taken out of every text that leaves the process."""

import base64
import json
import os
import shlex
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import TypeVar
from urllib.parse import quote, quote_plus

from inventory.errors import InventoryError, Problem, SpecrailError, UsageError
from inventory.shell import command

MASK = "***"
"""What stands in a text where a secret was. Shorter than any secret, so that replacing always ends."""

MIN_LENGTH = 6
"""Shorter values cannot be hidden: they occur in ordinary text."""


Failure = TypeVar("Failure", bound=SpecrailError)


class Secret:
    """A value that shows itself only when asked: `reveal()`. repr, str, format and JSON (default=str) give the mask."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself: for stdin, 0600 files and request headers, nothing else."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __deepcopy__(self, memo: dict[int, object]) -> "Secret":
        return self

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")


def resolve(reference: str, base: Path, *, timeout_s: float = 30) -> Secret:
    """The secret that `env:NAME`, `file:PATH` or `command:ARGV...` points to, without its trailing newline.

    base: the folder that relative paths and commands start from (the inventory's). Commands run without a shell.
    Raises UsageError, which says what is missing and never what was found.
    """
    kind, _, rest = reference.partition(":")
    if kind == "env" and rest:
        value = _from_environment(rest)
    elif kind == "file" and rest:
        value = _from_file(base / Path(rest).expanduser())
    elif kind == "command" and rest:
        value = _from_command(rest, base, timeout_s)
    else:
        # The text is not shown: somebody may have written the secret itself.
        raise UsageError(
            "this is not a reference to a secret",
            why=["A secret is never written in the inventory, only where it is."],
            tries=["env:NAME", "file:PATH", "command:pass show NAME"],
        )
    value = value.rstrip("\r\n")
    if not value:
        raise UsageError(f"the secret {reference} is empty")
    _refuse_short(value, f"the secret {reference}")
    return Secret(value)


class Redactor:
    """Knows the secrets of this run and takes them out of texts, in every form that programs print them in."""

    def __init__(self) -> None:
        self._forms: tuple[str, ...] = ()
        self._adding = Lock()

    def add(self, secret: Secret | str) -> None:
        """From now on hide this value. Raises UsageError for one shorter than MIN_LENGTH characters."""
        value = secret.reveal() if isinstance(secret, Secret) else secret
        _refuse_short(value, "a secret")
        forms = {form for text in (value, *_long_lines(value)) for form in _forms(text)}
        with self._adding:
            self._forms = tuple(sorted(forms | set(self._forms), key=lambda form: (-len(form), form)))

    @property
    def longest(self) -> int:
        """Characters of the longest text that is hidden: as much may be left of one at the edge of a cut text."""
        return len(self._forms[0]) if self._forms else 0

    def __call__(self, text: str) -> str:
        """`text` with every known secret replaced by the mask."""
        while found := [form for form in self._forms if form in text]:  # a mask and its neighbours may make a new match
            for form in found:
                text = text.replace(form, MASK)
        return text

    def error(self, error: Failure) -> Failure:
        """The same error with every known secret taken out of its texts; returned, to be raised or printed."""
        error.what = self(error.what)
        error.where = tuple(self(line) for line in error.where)
        error.why = tuple(self(line) for line in error.why)
        error.tries = tuple(self(line) for line in error.tries)
        error.log = None if error.log is None else self(error.log)
        error.args = tuple(self(arg) if isinstance(arg, str) else arg for arg in error.args)
        if isinstance(error, InventoryError):
            error.problems = tuple(self._problem(problem) for problem in error.problems)
        return error

    def _problem(self, problem: Problem) -> Problem:
        hint = None if problem.hint is None else self(problem.hint)
        return Problem(self(problem.file), problem.line, self(problem.key), self(problem.message), hint)


def _refuse_short(value: str, what: str) -> None:
    if len(value) < MIN_LENGTH:
        raise UsageError(
            f"{what} is shorter than {MIN_LENGTH} characters",
            why=["So short a value cannot be kept out of outputs: it occurs in ordinary text."],
        )


def _from_environment(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise UsageError(f"the environment variable {name} is not set", tries=[f"export {name}=..."])
    return value


def _from_file(path: Path) -> str:
    try:
        mode = path.stat().st_mode
        if stat.S_IMODE(mode) & 0o077:
            raise UsageError(
                f"the secret file {path} can be read by others (mode {stat.S_IMODE(mode):04o})",
                tries=[command("chmod", "600", str(path))],
            )
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the secret file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"the secret file {path} is not UTF-8 text") from None  # the cause would carry its bytes


def _from_command(line: str, base: Path, timeout_s: float) -> str:
    try:
        argv = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"the secret's command cannot be read as words: {error}", why=[line]) from None
    if not argv:
        raise UsageError("the secret's command is empty")
    try:
        done = subprocess.run(
            argv, cwd=base, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"the secret's command took longer than {timeout_s:g} s: {line}") from None
    except OSError as error:
        raise UsageError(f"the secret's command cannot be started: {error.strerror}", why=[line]) from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        raise UsageError(f"the secret's command ended with status {done.returncode}: {line}", why=said)
    try:
        return done.stdout.decode()
    except UnicodeDecodeError:
        raise UsageError(f"the secret's command printed something that is not UTF-8 text: {line}") from None


def _long_lines(value: str) -> list[str]:
    """The lines of a secret of several (a private key): texts are often looked at line by line."""
    lines = [line.strip() for line in value.splitlines()]
    return [line for line in lines if len(line) >= MIN_LENGTH and line != value]


def _forms(value: str) -> Iterator[str]:
    """Each way in which `value` may stand in a text. None is shorter than MIN_LENGTH."""
    yield value
    yield repr(value)[1:-1]
    for ensure_ascii in (True, False):
        escaped = json.dumps(value, ensure_ascii=ensure_ascii)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")
    yield shlex.quote(value)
    yield value.replace("'", "'\"'\"'")
    yield value.replace("'", "'\\''")
    data = value.encode(errors="surrogatepass")
    for encoded in (quote(data, safe=""), quote(data), quote(data, safe="!'()*"), quote_plus(data)):
        yield encoded
        yield _lower_escapes(encoded)
    for lead in range(3):  # where the value starts within base64's groups of three bytes: "user:secret" in a header
        start, stop = -(-lead * 8 // 6), (lead + len(data)) * 8 // 6
        for alphabet in (base64.b64encode, base64.urlsafe_b64encode):
            padded = alphabet(bytes(lead) + data).decode()
            yield padded[start:stop]
            if lead == 0:
                yield padded
                yield padded.rstrip("=")


def _lower_escapes(encoded: str) -> str:
    """%2F as %2f."""
    head, *escapes = encoded.split("%")
    return head + "".join(f"%{escape[:2].lower()}{escape[2:]}" for escape in escapes)
