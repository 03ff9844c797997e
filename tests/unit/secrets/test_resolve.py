"""Secrets by reference: what is found, and what is said when it is not."""

import copy
import json
import pickle
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from inventory.errors import UsageError
from inventory.secrets import Secret, resolve

CANARY = "canary-value-0123"


def test_an_environment_variable_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOKEN", CANARY)
    assert resolve("env:TOKEN", tmp_path).reveal() == CANARY


def test_a_file_is_found_beside_the_inventory_or_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for path, reference in [
        (tmp_path / "token", "file:token"),
        (tmp_path / "a" / "token", f"file:{tmp_path}/a/token"),
        (tmp_path / "home" / "token", "file:~/token"),
    ]:
        path.parent.mkdir(exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(f"{CANARY}{path.parent}\r\n")
        assert resolve(reference, tmp_path).reveal() == f"{CANARY}{path.parent}"


def test_a_command_is_run_without_a_shell_beside_the_inventory(tmp_path: Path) -> None:
    (tmp_path / "token.py").write_text("import sys; print(sys.argv[1:], sys.stdin.read())")
    reference = f"command:{sys.executable} token.py 'two words' $HOME ; echo"
    assert resolve(reference, tmp_path).reveal() == "['two words', '$HOME', ';', 'echo'] "


def test_only_the_end_of_line_is_taken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", f"  {CANARY} two\nlines \n\n")
    assert resolve("env:TOKEN", tmp_path).reveal() == f"  {CANARY} two\nlines "


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("env:NOT_THERE", "the environment variable NOT_THERE is not set"),
        ("env:EMPTY", "the secret env:EMPTY is empty"),
        ("env:SHORT", "the secret env:SHORT is shorter than 6 characters"),
        ("file:absent", "cannot be read: No such file or directory"),
        ("file:open", "can be read by others (mode 0644)"),
        ("file:binary", "is not UTF-8 text"),
        ("file:.", "can be read by others"),
        ("command:not-a-command", "cannot be started: No such file or directory"),
        ("command:false", "ended with status 1"),
        ("command:sleep 20", "took longer than 0.2 s"),
        ("command:'unfinished", "No closing quotation"),
        ("command:printf '\\377'", "is not UTF-8 text"),
        ("command: ", "command is empty"),
        (CANARY, "not a reference"),
        ("env:", "not a reference"),
    ],
)
def test_what_is_wrong_is_said_without_the_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str, said: str
) -> None:
    monkeypatch.delenv("NOT_THERE", raising=False)
    monkeypatch.setenv("EMPTY", "\n")
    monkeypatch.setenv("SHORT", "abcde")
    (tmp_path / "open").write_text(CANARY)
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "binary").touch(mode=0o600)
    (tmp_path / "binary").write_bytes(CANARY.encode() + b"\xff")
    tmp_path.chmod(0o755)
    with pytest.raises(UsageError) as caught:
        resolve(reference, tmp_path, timeout_s=0.2)
    assert said in str(caught.value)
    assert CANARY not in str(caught.value)
    assert "abcde" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_file_that_others_can_read_is_mended_by_the_command_that_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "it's open"
    path.write_text(CANARY)
    path.chmod(0o640)
    with pytest.raises(UsageError) as caught:
        resolve(f"file:{path}", tmp_path)
    assert caught.value.tries == (f"""chmod 600 '{tmp_path}/it'"'"'s open'""",)


def test_a_failed_command_is_quoted_with_its_complaint(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(f"command:ls {tmp_path}/absent", tmp_path)
    assert "No such file or directory" in caught.value.why[-1]


@dataclass(frozen=True)
class Holder:
    token: Secret


def test_a_secret_shows_itself_only_when_asked() -> None:
    secret = Secret(CANARY)
    shown = [
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret:>30}",
        "%s %r" % (secret, secret),  # noqa: UP031 - one more way
        json.dumps({"token": secret}, default=str),
        repr(Holder(secret)),
        repr(asdict(Holder(secret))),
        repr(copy.deepcopy(Holder(secret))),
        repr(vars(Holder(secret))),
    ]
    assert not [text for text in shown if "canary" in text]
    assert secret.reveal() == CANARY


def test_a_secret_is_not_pickled() -> None:
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(Secret(CANARY))


def test_secrets_are_equal_when_their_values_are() -> None:
    assert Secret(CANARY) == Secret(CANARY)
    assert len({Secret(CANARY), Secret(CANARY), Secret("another-one")}) == 2
    assert Secret(CANARY) != CANARY
