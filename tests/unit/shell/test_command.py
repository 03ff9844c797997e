"""The one place that quotes: whatever the words are, a shell reads them back as they were."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.shell import command

WORDS = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1, max_size=5)


@given(WORDS)
def test_a_shell_reads_back_any_words(words: list[str]) -> None:
    """For any words without NUL, /bin/sh takes the command apart into exactly these."""
    script = command("printf", "%s\\0", *words)
    printed = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True).stdout
    assert printed.decode().split("\0")[:-1] == words


def test_a_nul_byte_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        command("echo", "a\0b")
