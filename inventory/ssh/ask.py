"""Many questions to a machine in one exec request: each a snippet of POSIX sh, each with its own answer."""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from inventory.errors import CommandError, ConnectionLost, DeadlineExceeded
from inventory.shell import Shell, command


@dataclass(frozen=True)
class Answer:
    """What a question printed, to the byte. A question that failed is answered too: its status says so."""

    text: str
    exit_status: int
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether the status was 0."""
        return self.exit_status == 0


def ask(shell: Shell, questions: Mapping[str, str], *, timeout_s: float = 30) -> dict[str, Answer]:
    """The answer to each question, in one exec request.

    A question runs in a subshell of its own with /dev/null as stdin: it may fail, exit, or be no valid sh at all.
    Raises DeadlineExceeded that names the question which hangs, ConnectionLost that names them all, CommandError when
    answers are missing, and what else Shell.run raises.
    """
    if not questions:
        return {}
    nonce = secrets.token_hex(16)
    answered = 0

    def see(line: str) -> None:
        nonlocal answered
        answered += line.startswith(f"@{nonce} ")

    try:
        result = shell.run(_script(questions.values(), nonce), timeout_s=timeout_s, check=False, on_line=see)
    except ConnectionLost as error:
        raise ConnectionLost(
            f"the line broke while the host was asked for {', '.join(questions)}",
            where=[shell.name],
            why=["Questions change nothing there."],
            tries=error.tries,
        ) from error
    except DeadlineExceeded as error:
        hanging = list(questions)[min(answered, len(questions) - 1)]
        raise DeadlineExceeded(
            f"{hanging} was not answered within {timeout_s:g} s",
            where=[shell.name],
            why=["The question was:", *questions[hanging].strip().splitlines()],
        ) from error
    texts, complaints = _by_number(result.stdout, nonce), _by_number(result.stderr, nonce)
    missing = [name for number, name in enumerate(questions) if number not in texts]
    if missing:
        raise CommandError(
            f"no answer to {', '.join(missing)}",
            exit_status=result.exit_status,
            where=[shell.name],
            why=["A question ended the whole shell, or the answers are too long."],
        )
    return {name: Answer(*texts[number], complaints.get(number, ("", 0))[0]) for number, name in enumerate(questions)}


def _script(questions: Iterable[str], nonce: str) -> str:
    """Each question, then on both streams a line that ends its answer: "@nonce number status"."""
    lines = [
        f'ends() {{ printf \'\\n@{nonce} %s %s\\n\' "$1" "$2"; printf \'\\n@{nonce} %s %s\\n\' "$1" "$2" >&2; }}',
        *(f"({command('eval', question)}) < /dev/null; ends {number} $?" for number, question in enumerate(questions)),
        "exit 0",
    ]
    return "\n".join(lines)


def _by_number(stream: str, nonce: str) -> dict[int, tuple[str, int]]:
    """Text and status by the number of the question. The newline before the ending line is ours."""
    parts = re.split(rf"\n@{nonce} (\d+) (\d+)\n", stream)
    answers = zip(parts[0::3], parts[1::3], parts[2::3], strict=False)  # what comes after the last is nobody's
    return {int(number): (text, int(status)) for text, number, status in answers}
