"""The same shell inside a container without a network, through `pct exec` on its node."""

import os
from pathlib import Path

import pytest

from inventory.errors import CommandError, UnreachableError
from inventory.ssh.pct import PctShell
from inventory.ssh.posix import EXEC_LIMIT_BYTES
from tests.unit.inventory.ssh.here import Here

# What PVE's pct does as far as we use it; "inside" is a folder of the test, told by a variable.
PCT = """#!/bin/sh
[ "$1 $3" = 'exec --' ] || { echo "unexpected: $*" >&2; exit 2; }
case $2 in
  129) shift 3; INSIDE=129 exec "$@" ;;
  130) echo "container '130' not running!" >&2; exit 255 ;;
  *) echo "Configuration file 'nodes/pve1/lxc/$2.conf' does not exist" >&2; exit 255 ;;
esac
"""


@pytest.fixture
def node(tmp_path: Path) -> Here:
    (tmp_path / "bin").mkdir()
    pct = tmp_path / "bin" / "pct"
    pct.write_text(PCT)
    pct.chmod(0o755)
    return Here(env={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})


def test_a_script_runs_inside_with_its_stdin_its_outputs_and_its_status(node: Here) -> None:
    shell = PctShell(node, 129)
    lines: list[str] = []
    result = shell.run(
        """echo "in $INSIDE it's"; cat; echo err >&2; exit 3""", stdin=b"data", check=False, on_line=lines.append
    )
    assert (result.exit_status, result.stdout, result.stderr) == (3, "in 129 it's\ndata", "err\n")
    assert lines == ["in 129 it's", "data"]
    assert len(node.scripts) == 1


def test_errors_name_the_node_and_the_container(node: Here) -> None:
    with pytest.raises(CommandError) as caught:
        PctShell(node, 129).run("false")
    assert caught.value.where == ("here/129",)


def test_files_go_in_and_come_back_to_the_byte(node: Here, tmp_path: Path) -> None:
    shell = PctShell(node, 129)
    content = bytes(range(256)) * 1000
    shell.write(f"{tmp_path}/file", content)
    assert shell.read(f"{tmp_path}/file") == content
    shell.put(tmp_path / "file", f"{tmp_path}/copy", mode=0o640)
    assert (tmp_path / "copy").read_bytes() == content
    assert shell.read(f"{tmp_path}/absent") is None


def test_a_script_too_long_for_a_command_line_runs_inside_too(node: Here) -> None:
    filler = "\n".join(": '" + "x" * 90 + "'" for _ in range(EXEC_LIMIT_BYTES // 90))
    assert PctShell(node, 129).run(f"{filler}\necho $INSIDE; cat", stdin=b"data").stdout == "129\ndata"


def test_secrets_of_the_node_are_hidden_inside_too(node: Here) -> None:
    node.redact.add("canary-0123")
    assert PctShell(node, 129).run("echo canary-0123").stdout == "***\n"


def test_a_stopped_container_is_unreachable_and_the_start_command_is_given(node: Here) -> None:
    with pytest.raises(UnreachableError, match="container 130 is not running") as caught:
        PctShell(node, 130).run("true", check=False)
    assert caught.value.tries == ("pct start 130",)


def test_a_container_that_is_not_there_is_unreachable(node: Here) -> None:
    with pytest.raises(UnreachableError, match="there is no container 131"):
        PctShell(node, 131).read("/etc/hostname")


def test_a_command_inside_that_says_the_same_words_is_not_mistaken(node: Here) -> None:
    result = PctShell(node, 129).run("echo here; echo \"container '129' not running!\" >&2; exit 1", check=False)
    assert result.exit_status == 1
