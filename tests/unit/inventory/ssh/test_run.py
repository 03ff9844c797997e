"""What a command run over ssh gives back."""

import threading
from collections.abc import Callable

import pytest

from inventory.errors import CommandError
from inventory.secrets import Redactor
from inventory.shell import command
from inventory.ssh.posix import EXEC_LIMIT_BYTES
from inventory.ssh.shell import SshShell
from tests.unit.inventory.ssh.servers import Server

Closing = Callable[[SshShell], SshShell]


@pytest.fixture(scope="module", params=["openssh_server", "faulty_server"])
def server(request: pytest.FixtureRequest) -> Server:
    """OpenSSH and asyncssh differ in windows, packet sizes and manners."""
    found: Server = request.getfixturevalue(request.param)
    return found


def test_run_gives_both_outputs_and_the_status(shell: SshShell) -> None:
    result = shell.run("echo out; echo err >&2; exit 3", check=False)
    assert (result.exit_status, result.stdout, result.stderr) == (3, "out\n", "err\n")


def test_a_status_that_is_not_0_is_an_error_that_quotes_the_command_and_its_complaint(shell: SshShell) -> None:
    with pytest.raises(CommandError) as caught:
        shell.run("set -e\nfalse-command --with this\n")
    assert caught.value.exit_status == 127
    assert caught.value.where == ("ct129",)
    assert "false-command --with this" in caught.value.what
    assert "not found" in caught.value.why[-1]


def test_scripts_run_in_a_locale_whose_messages_programs_can_read(shell: SshShell) -> None:
    assert shell.run("echo $LC_ALL").stdout == "C.UTF-8\n"


def test_stdin_is_empty_unless_given(shell: SshShell) -> None:
    assert shell.run("cat | wc -c").stdout.strip() == "0"
    assert shell.run("cat", stdin="größe\n".encode()).stdout == "größe\n"


def test_bytes_that_are_no_text_are_replaced_not_refused(shell: SshShell) -> None:
    assert shell.run(r"printf 'a\377\000b'").stdout == "a\ufffd\0b"


def test_a_script_too_long_for_a_command_line_runs_all_the_same_and_keeps_its_stdin(shell: SshShell) -> None:
    filler = "\n".join(f": 'quoted {number}'" for number in range(EXEC_LIMIT_BYTES // 10))
    result = shell.run(f"{filler}\ncat; exit 5", stdin=b"data", check=False)
    assert (result.exit_status, result.stdout, result.stderr) == (5, "data", "")


def test_megabytes_on_both_streams_do_not_block_each_other(shell: SshShell) -> None:
    result = shell.run("head -c 5000000 /dev/zero >&2; head -c 5000000 /dev/zero; head -c 3000000 /dev/zero >&2")
    assert (len(result.stdout), len(result.stderr)) == (5_000_000, 8_000_000)


def test_a_command_that_talks_before_it_listens_does_not_block(shell: SshShell) -> None:
    data = bytes(6_000_000)
    result = shell.run("head -c 6000000 /dev/zero; wc -c", stdin=data)
    assert result.stdout.rstrip().rstrip("0123456789").count("\0") == 6_000_000
    assert result.stdout.rstrip().endswith("6000000")


def test_a_command_that_does_not_read_all_of_its_stdin_ends_with_its_own_status(shell: SshShell) -> None:
    assert shell.run("head -c 3; exit 4", stdin=bytes(5_000_000), check=False).exit_status == 4


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes of output that are kept; megabytes would take long."""
    limit = 300_000
    monkeypatch.setattr("inventory.ssh.posix.OUTPUT_LIMIT_BYTES", limit)
    return limit


def test_of_a_flood_the_end_is_kept_and_the_cut_is_told(shell: SshShell, small_limit: int) -> None:
    count = 3 * small_limit
    result = shell.run(f"head -c {count} /dev/zero | tr '\\0' x; echo; echo the end")
    first, rest = result.stdout.split("\n", 1)
    assert first == f"[{count + len('.the end.') - small_limit} bytes were cut here]"
    assert len(rest) == small_limit
    assert rest.endswith("x\nthe end\n")


def test_lines_come_while_the_command_still_runs(shell: SshShell) -> None:
    """The command waits for what the first line makes us do: it would hang if lines came only at the end."""
    seen: list[str] = []
    gate = shell.run("mktemp -d").stdout.strip()

    def on_line(line: str) -> None:
        seen.append(line)
        if line == "first":
            shell.run(command("touch", f"{gate}/go"))

    script = f"echo first; while [ ! -e {gate}/go ]; do sleep 0.05; done; printf 'second\\r\\nlast'; rm -r {gate}"
    result = shell.run(script, on_line=on_line, timeout_s=20)
    assert seen == ["first", "second", "last"]
    assert result.stdout == "first\nsecond\r\nlast"


def test_what_on_line_raises_ends_the_command_and_reaches_the_caller(shell: SshShell) -> None:
    def on_line(line: str) -> None:
        raise OSError(line)

    with pytest.raises(OSError, match="stop"):
        shell.run("echo stop; sleep 20", on_line=on_line)
    assert shell.run("echo again").stdout == "again\n"


def test_secrets_are_taken_out_of_outputs_lines_and_errors(server: Server, closing: Closing) -> None:
    redact = Redactor()
    redact.add("hf_canary_0123")
    shell = closing(server.shell(redact=redact))
    seen: list[str] = []
    result = shell.run("echo a hf_canary_0123 b; echo hf_canary_0123 >&2", on_line=seen.append)
    assert (result.stdout, result.stderr, seen) == ("a *** b\n", "***\n", ["a *** b"])
    with pytest.raises(CommandError) as caught:
        shell.run("echo hf_canary_0123 >&2; exit 1")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("shift", [0, 5, 11])
def test_half_a_secret_does_not_survive_where_a_flood_is_cut(
    server: Server, closing: Closing, small_limit: int, shift: int
) -> None:
    secret = "canary/0123456789/tail"
    redact = Redactor()
    redact.add(secret)
    flood = f"yes {secret} | tr -d '\\n' | head -c {2 * small_limit + shift}"
    kept = closing(server.shell(redact=redact)).run(flood).stdout.split("\n", 1)[1]
    assert not [at for at in range(len(secret) - 3) if kept.startswith(secret[at:])]


def test_a_second_thread_may_run_commands_meanwhile(shell: SshShell) -> None:
    gate = shell.run("mktemp -d").stdout.strip()
    results: list[str] = []
    waiter = threading.Thread(
        target=lambda: results.append(shell.run(f"while [ ! -e {gate}/go ]; do sleep 0.05; done; echo went").stdout)
    )
    waiter.start()
    shell.run(f"touch {gate}/go")
    waiter.join(20)
    shell.run(f"rm -r {gate}")
    assert results == ["went\n"]


def test_each_run_is_one_exec_request(shell: SshShell) -> None:
    before = shell.exec_requests
    for _ in range(3):
        shell.run("true")
    assert shell.exec_requests == before + 3


def test_a_closed_shell_dials_again(shell: SshShell) -> None:
    shell.run("true")
    shell.close()
    shell.close()
    assert shell.run("echo back").stdout == "back\n"
