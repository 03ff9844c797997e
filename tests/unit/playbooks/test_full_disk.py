"""An answer for which there is no room."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.person import CHECKOUT


@pytest.mark.parametrize("words", ["inventory.schema", "inventory.show --inventory inventory/example.yml --host ct129"])
def test_a_full_disk_is_one_line(words: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "playbooks.program", *words.split()],
            cwd=CHECKOUT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert (
        done.stderr.splitlines()[-1]
        == f"{words.split()[0].partition('.')[2]}: not all was written: No space left on device"
    )
    assert "Traceback" not in done.stderr
