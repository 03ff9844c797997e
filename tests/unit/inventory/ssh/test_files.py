"""Files on a host: whole or not at all, with the mode that was asked for, and back again."""

import errno
import io
import os
import stat
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from inventory.errors import CommandError, ConnectionLost, UsageError
from inventory.ssh.shell import SshShell
from inventory.wait import wait_for
from tests.unit.inventory.ssh.here import Here
from tests.unit.inventory.ssh.servers import Relay, Server

EVERY_BYTE = bytes(range(256)) * 300


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_written_is_read_back_to_the_byte(shell: SshShell, tmp_path: Path) -> None:
    shell.write(f"{tmp_path}/file", EVERY_BYTE)
    assert shell.read(f"{tmp_path}/file") == EVERY_BYTE
    assert _mode(tmp_path / "file") == 0o600
    shell.write(f"{tmp_path}/file", b"", mode=0o644)
    assert (shell.read(f"{tmp_path}/file"), _mode(tmp_path / "file")) == (b"", 0o644)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_read_gives_the_beginning_up_to_its_limit_and_none_for_no_file(shell: SshShell, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(EVERY_BYTE)
    assert shell.read(f"{tmp_path}/file", limit_bytes=1000) == EVERY_BYTE[:1000]
    assert shell.read(f"{tmp_path}/absent") is None


def test_a_file_is_read_as_it_is_even_where_it_holds_a_secret(tmp_path: Path) -> None:
    shell = Here()
    shell.redact.add("canary-0123")
    shell.write(f"{tmp_path}/env", b"TOKEN=canary-0123\n")
    assert shell.read(f"{tmp_path}/env") == b"TOKEN=canary-0123\n"


def test_names_that_a_shell_would_take_apart_are_taken_whole(tmp_path: Path) -> None:
    path = tmp_path / "a 'b' $(touch x) \"c\" *"
    Here().write(str(path), b"content")
    assert Here().read(str(path)) == b"content"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_by_the_file_and_its_target_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("theirs")
    (tmp_path / "link").symlink_to("target")
    Here().write(f"{tmp_path}/link", b"ours")
    assert (tmp_path / "target").read_text() == "theirs"
    assert (tmp_path / "link").read_text() == "ours"


def test_a_folder_is_not_replaced_and_nothing_is_put_into_it(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be written") as caught:
        Here().write(str(tmp_path), b"content")
    assert caught.value.why == (f"{tmp_path} is a folder",)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_an_error_that_says_so(shell: SshShell, tmp_path: Path) -> None:
    with pytest.raises(CommandError) as caught:
        shell.write(f"{tmp_path}/absent/file", b"content")
    assert "No such file or directory" in caught.value.why[-1]


def test_a_full_disk_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    """`cat` fails as it does with ENOSPC."""
    (tmp_path / "bin").mkdir()
    cat = tmp_path / "bin" / "cat"
    cat.write_text("#!/bin/sh\nhead -c 10\necho 'cat: write error: No space left on device' >&2\nexit 1\n")
    cat.chmod(0o755)
    (tmp_path / "file").write_text("old")
    with pytest.raises(CommandError) as caught:
        Here(env={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}).write(f"{tmp_path}/file", bytes(100))
    assert "No space left on device" in caught.value.why[-1]
    assert (tmp_path / "file").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"bin", "file"}


def test_a_relative_path_is_a_fault_of_ours() -> None:
    with pytest.raises(ValueError, match="absolute"):
        Here().write("file", b"content")


def test_put_sends_a_large_file_with_its_mode(shell: SshShell, tmp_path: Path) -> None:
    (tmp_path / "local").write_bytes(EVERY_BYTE * 200)
    shell.put(tmp_path / "local", f"{tmp_path}/remote")
    assert (tmp_path / "remote").read_bytes() == EVERY_BYTE * 200
    assert _mode(tmp_path / "remote") == 0o755


def test_put_of_a_file_that_is_not_here_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        Here().put(tmp_path / "absent", f"{tmp_path}/remote")


def test_a_file_that_shrinks_while_it_is_sent_is_refused(
    shell: SshShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "local").write_bytes(bytes(1000))
    real = os.fstat
    monkeypatch.setattr(os, "fstat", lambda fd: os.stat_result([*real(fd)[:6], real(fd).st_size + 1, *real(fd)[7:]]))
    with pytest.raises(CommandError) as caught:
        shell.put(tmp_path / "local", f"{tmp_path}/remote")
    assert "1000 of 1001 bytes came" in caught.value.why[-1]
    assert not (tmp_path / "remote").exists()


def test_a_local_disk_that_fails_during_an_upload_leaves_the_old_file(
    shell: SshShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > 100_000:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size)

        def fileno(self) -> int:
            return 0

    (tmp_path / "remote").write_text("old")
    monkeypatch.setattr(Path, "open", lambda *_: Failing(bytes(1_000_000)))
    monkeypatch.setattr(os, "fstat", lambda _: SimpleNamespace(st_size=1_000_000))
    with pytest.raises(OSError, match="Input/output error"):
        shell.put(tmp_path / "local", f"{tmp_path}/remote")
    monkeypatch.undo()
    assert (tmp_path / "remote").read_text() == "old"


def test_a_line_cut_during_an_upload_leaves_the_old_file_whole_and_no_rest(
    server: Server, closing: Callable[[SshShell], SshShell], tmp_path: Path
) -> None:
    target = tmp_path / "there" / "file"
    target.parent.mkdir()
    target.write_text("old")
    (tmp_path / "local").write_bytes(EVERY_BYTE * 50)
    with Relay(server.port, cut_after=1_000_000) as relay, pytest.raises(ConnectionLost):
        closing(server.shell(port=relay.port)).put(tmp_path / "local", str(target))
    wait_for(lambda: len(list(target.parent.iterdir())) == 1 or None, what="the temporary file to go", timeout_s=20)
    assert target.read_text() == "old"


def test_an_upload_needs_no_memory_of_its_size(shell: SshShell, tmp_path: Path) -> None:
    """What Python allocates at the peak is a small part of it."""
    with (tmp_path / "local").open("wb") as file:
        file.truncate(24 * 1024 * 1024)
    shell.run("true")
    tracemalloc.start()
    shell.put(tmp_path / "local", f"{tmp_path}/remote")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "remote").stat().st_size == 24 * 1024 * 1024
    assert peak < 4 * 1024 * 1024
