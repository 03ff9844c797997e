"""Many questions in one exec request, and an answer for each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import CommandError, ConnectionLost, DeadlineExceeded
from inventory.shell import command
from inventory.ssh.ask import Answer, ask
from inventory.ssh.posix import Output
from inventory.ssh.shell import SshShell
from tests.unit.inventory.ssh.here import Here

ODD = {
    "no newline at the end": ("printf hi", Answer("hi", 0, "")),
    "an exit": ("echo a; exit 3; echo b", Answer("a\n", 3, "")),
    "nothing": ("", Answer("", 0, "")),
    "a comment": ("# nothing", Answer("", 0, "")),
    "set -e": ("set -e; false; echo not reached", Answer("", 1, "")),
    "reads stdin": ("cat", Answer("", 0, "")),
    "empty lines": ("printf '\\n\\n'", Answer("\n\n", 0, "")),
    "junk": (r"printf '\000\377\r\n'", Answer("\0\ufffd\r\n", 0, "")),
    "complains": ("echo out; echo err >&2; exit 1", Answer("out\n", 1, "err\n")),
    "elsewhere": ("cd /; pwd", Answer("/\n", 0, "")),
    "is a group": ("{ echo a; (exit 2); }", Answer("a\n", 2, "")),
    "quotes": ("""echo "it's" '$HOME'""", Answer("it's $HOME\n", 0, "")),
}


@pytest.mark.parametrize("sh", ["/bin/sh", "/bin/bash"])
def test_each_question_has_its_own_answer_whatever_the_others_do(sh: str) -> None:
    shell = Here(sh)
    answers = ask(shell, {name: question for name, (question, _) in ODD.items()})
    assert answers == {name: answer for name, (_, answer) in ODD.items()}
    assert len(shell.scripts) == 1


def test_a_question_that_is_no_sh_fails_alone(shell: SshShell) -> None:
    answers = ask(shell, {"first": "echo 1", "broken": "if then ( '", "last": "echo 2"})
    assert (answers["first"].text, answers["last"].text) == ("1\n", "2\n")
    assert not answers["broken"].ok
    assert "yntax" in answers["broken"].stderr or "nterminated" in answers["broken"].stderr


def test_a_question_that_hangs_is_bounded_and_named(shell: SshShell) -> None:
    with pytest.raises(DeadlineExceeded) as caught:
        ask(shell, {"host": "echo here", "gpus": "sleep 20", "disk": "df"}, timeout_s=1)
    assert caught.value.what == "gpus was not answered within 1 s"
    assert caught.value.where == ("ct129",)
    assert "sleep 20" in caught.value.why


def test_a_line_that_breaks_is_told_without_our_own_script() -> None:
    class Cut(Here):
        def execute(self, script: str, **_: object) -> Output:
            raise ConnectionLost(f"the line broke while `{script}` ran", where=["here"])

    with pytest.raises(ConnectionLost) as caught:
        ask(Cut(), {"host": "hostname", "gpus": "nvidia-smi"})
    assert caught.value.what == "the line broke while the host was asked for host, gpus"
    assert "printf" not in str(caught.value)


def test_a_question_that_kills_the_shell_leaves_the_unanswered_ones_named() -> None:
    with pytest.raises(CommandError, match="no answer to second, third"):
        ask(Here(), {"first": "true", "second": "kill -9 $$", "third": "true"})


def test_no_questions_cost_no_request() -> None:
    shell = Here()
    assert ask(shell, {}) == {}
    assert shell.scripts == []


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=4))
def test_any_texts_come_back_as_they_were_printed(texts: list[str]) -> None:
    """For any texts without NUL: printing each as a question's output gives the same texts as answers."""
    questions = {str(number): command("printf", "%s", text) for number, text in enumerate(texts)}
    assert [answer.text for answer in ask(Here(), questions).values()] == texts


def test_questions_too_many_for_a_command_line_are_answered_in_one_request_all_the_same(shell: SshShell) -> None:
    before = shell.exec_requests
    questions = {str(number): command("echo", f"{number}:" + "x" * 1000) for number in range(100)}
    answers = ask(shell, questions)
    assert all(answers[str(number)].text == f"{number}:" + "x" * 1000 + "\n" for number in range(100))
    assert shell.exec_requests == before + 1
