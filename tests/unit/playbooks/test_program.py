"""What is mistyped ends with exit code 2 and names what was meant."""

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
