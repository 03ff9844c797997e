"""What is mistyped ends with exit code 2 and names what was meant."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from playbooks.program import program

CHECKOUT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("benhc", "there is no verb benhc\n  Try:  bench\n  See:  invoke --list\n"),
        ("bench --concurency 3", "bench: there is no flag --concurency\n  Try:  --concurrency"),
        ("drafter.infer --tagret t", "drafter.infer: there is no flag --tagret\n  Try:  --target"),
        ("status --hots ct129", "status: there is no flag --hots\n  Try:  --host\n  See:  invoke status --help\n"),
        ("qqq", "there is no verb qqq\n  See:  invoke --list\n"),
    ],
)
def test_the_word_that_was_meant_is_named(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.run(["invoke", "--search-root", str(CHECKOUT), *line.split()])
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err[: len(said)]) == ("", said)


def test_a_reader_who_has_read_enough_is_no_fault() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    line = [sys.executable, "-m", "playbooks.program", "--search-root", str(CHECKOUT), "--list"]
    with os.fdopen(writing, "wb") as closed:
        ended = subprocess.run(line, cwd=CHECKOUT, stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
